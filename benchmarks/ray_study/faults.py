"""Faults injected into a sweep on a cluster, which it has to survive."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ray_study.network import NetworkNode
from ray_study.ray_nodes import (
    add_node,
    measuring_processes,
    node_actors,
    start_sweep,
    sweep_episodes,
    wait_for,
)


@dataclass
class FaultySweep:
    """A sweep into a folder on a cluster, whose driver is begun anew when it has ended."""

    cluster: Any
    folder: Path
    arguments: tuple[str, ...]
    log: IO[str]
    network_node: NetworkNode | None = None
    foreign_processes: set[int] = field(default_factory=lambda: set(node_actors()))
    driver: subprocess.Popen[str] | None = None
    events: list[dict[str, Any]] = field(default_factory=list)

    def __enter__(self) -> None:
        self.start_driver()

    def __exit__(self, *_: object) -> None:
        if self.driver is not None and not self.has_ended:
            self.driver.kill()
            self.driver.wait()

    def start_driver(self) -> None:
        """Start the driver."""
        self.driver = start_sweep(self.folder, self.cluster.address, *self.arguments, log=self.log)

    @property
    def has_ended(self) -> bool:
        return self.driver is None or self.driver.poll() is not None

    @property
    def rows(self) -> int:
        return len(sweep_episodes(self.folder))

    def wait_for_rows(self, count: int) -> bool:
        """Wait for so many rows; return whether the driver still is at work."""
        wait_for(lambda: self.rows >= count or self.has_ended, f"{count} rows", 1200.0)
        return not self.has_ended

    def count_in_log(self, text: str) -> int:
        """Return how often the driver has said something."""
        return Path(self.log.name).read_text().count(text)

    def own_actors(self) -> list[int]:
        return [actor for actor in node_actors() if actor not in self.foreign_processes]

    def nodes_at_work(self) -> list[Any]:
        """Return the nodes that have an actor of this sweep's."""
        own = set(self.own_actors())
        return [
            node
            for node in self.cluster.worker_nodes
            if own & set(measuring_processes(_raylet(node)))
        ]

    def record_event(self, harm: str, **more: Any) -> None:
        self.events.append({"harm": harm, "rows": self.rows, **more})


def kill_actor(sweep: FaultySweep) -> None:
    """Kill the process that measures on a node."""
    if actor := next(iter(sweep.own_actors()), None):
        os.kill(actor, signal.SIGKILL)
    sweep.record_event("an actor was killed")


def kill_node(sweep: FaultySweep) -> None:
    """Kill a raylet with all that belongs to it; another one comes."""
    node = sweep.nodes_at_work()[0]
    sweep.cluster.remove_node(node, allow_graceful=False)
    add_node(sweep.cluster)
    sweep.record_event("a raylet was killed, and another one joined")


def isolate_node(sweep: FaultySweep) -> None:
    """Let nothing in or out of a node until it is taken for lost; then it comes back to life.

    All of its processes stand still meanwhile, as far as others can tell the network is cut. What
    it has done by then and what it still does has been given to others too: it comes twice.
    """
    raylet = _raylet(sweep.nodes_at_work()[0])
    family = [raylet, *measuring_processes(raylet)]
    seconds = _until_lost(
        sweep,
        lambda: [os.kill(pid, signal.SIGSTOP) for pid in family],
        lambda: [_signal(pid, signal.SIGCONT) for pid in family],
    )
    sweep.record_event("a node was cut off until it was taken for lost", seconds=seconds)
    add_node(sweep.cluster)


def drop_packets(sweep: FaultySweep) -> None:
    """Lose every packet of a node until it is taken for lost; then the cable is plugged in again.

    Its processes know nothing of it, go on with what they had, and say so to nobody.
    """
    wired = sweep.network_node
    if wired is None:
        sweep.record_event("no network was cut: that takes root and network namespaces")
        return
    wait_for(lambda: set(sweep.own_actors()) & set(wired.processes), "the node behind a cable")
    seconds = _until_lost(sweep, wired.pull, wired.plug)
    sweep.record_event("a node's cable was pulled until it was taken for lost", seconds=seconds)


def _until_lost(sweep: FaultySweep, begin: Callable[[], Any], end: Callable[[], Any]) -> float:
    """Do something to a node until it is taken for lost; return how many seconds that took."""
    before, began = sweep.count_in_log("is lost"), time.monotonic()
    begin()
    try:
        wait_for(
            lambda: sweep.count_in_log("is lost") > before or sweep.has_ended, "its loss", 180.0
        )
    finally:
        end()
    return round(time.monotonic() - began, 1)


def suspend_node(sweep: FaultySweep, seconds: float = 6.0) -> None:
    """Let what measures on a node stand still for a while, which is no reason to give it up."""
    family = [
        pid for actor in sweep.own_actors()[:1] for pid in (actor, *measuring_processes(actor))
    ]
    for pid in family:
        _signal(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in family:
        _signal(pid, signal.SIGCONT)
    sweep.record_event("an actor stood still", seconds=seconds)


def kill_driver(sweep: FaultySweep) -> None:
    """Kill the driver; the same command goes on."""
    assert sweep.driver is not None
    family = [pid for actor in sweep.own_actors() for pid in (actor, *measuring_processes(actor))]
    sweep.driver.kill()
    sweep.driver.wait()
    began = time.monotonic()
    wait_for(lambda: not any(map(_exists, family)), "the end of a dead driver's processes")
    after = time.monotonic() - began
    sweep.record_event("the driver was killed; its workers ended", seconds=round(after, 1))
    sweep.start_driver()


def interrupt_driver(sweep: FaultySweep) -> None:
    """Press Ctrl-C; the same command goes on."""
    assert sweep.driver is not None
    began = time.monotonic()
    sweep.driver.send_signal(signal.SIGINT)
    code = sweep.driver.wait(120)
    after = time.monotonic() - began
    sweep.record_event("Ctrl-C", code=code, seconds=round(after, 1))
    sweep.start_driver()


FAULTS: tuple[Callable[[FaultySweep], None], ...] = (
    kill_actor,
    kill_node,
    kill_driver,
    isolate_node,
    drop_packets,
    suspend_node,
    interrupt_driver,
)


def _raylet(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)


def _signal(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def _exists(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"
