"""What is done to a sweep on a cluster while it is at work, and what it has to survive."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from onray.nodes import actors, added, found, measuring, start, wait_for
from onray.wires import Wired


@dataclass
class Sweep:
    """A sweep into a folder on a cluster, whose driver is begun anew when it has ended."""

    cluster: Any
    folder: Path
    words: tuple[str, ...]
    log: IO[str]
    wired: Wired | None = None
    strangers: set[int] = field(default_factory=lambda: set(actors()))
    driver: subprocess.Popen[str] | None = None
    notes: list[dict[str, Any]] = field(default_factory=list)

    def __enter__(self) -> None:
        self.begin()

    def __exit__(self, *_: object) -> None:
        if self.driver is not None and not self.has_ended:
            self.driver.kill()
            self.driver.wait()

    def begin(self) -> None:
        """Start the driver."""
        self.driver = start(self.folder, self.cluster.address, *self.words, log=self.log)

    @property
    def has_ended(self) -> bool:
        return self.driver is None or self.driver.poll() is not None

    @property
    def rows(self) -> int:
        return len(found(self.folder))

    def wait_for_rows(self, count: int) -> bool:
        """Wait for so many rows; return whether the driver still is at work."""
        wait_for(lambda: self.rows >= count or self.has_ended, f"{count} rows", 1200.0)
        return not self.has_ended

    def said(self, words: str) -> int:
        """Return how often the driver has said something."""
        return Path(self.log.name).read_text().count(words)

    def own_actors(self) -> list[int]:
        return [one for one in actors() if one not in self.strangers]

    def nodes_at_work(self) -> list[Any]:
        """Return the nodes that have an actor of this sweep's."""
        own = set(self.own_actors())
        return [one for one in self.cluster.worker_nodes if own & set(measuring(_raylet(one)))]

    def note(self, harm: str, **more: Any) -> None:
        self.notes.append({"harm": harm, "rows": self.rows, **more})


def kill_an_actor(sweep: Sweep) -> None:
    """Kill the process that measures on a node."""
    if one := next(iter(sweep.own_actors()), None):
        os.kill(one, signal.SIGKILL)
    sweep.note("an actor was killed")


def kill_a_node(sweep: Sweep) -> None:
    """Kill a raylet with all that belongs to it; another one comes."""
    node = sweep.nodes_at_work()[0]
    sweep.cluster.remove_node(node, allow_graceful=False)
    added(sweep.cluster)
    sweep.note("a raylet was killed, and another one joined")


def cut_off_a_node(sweep: Sweep) -> None:
    """Let nothing in or out of a node until it is taken for lost; then it comes back to life.

    All of its processes stand still meanwhile, as far as others can tell the network is cut. What
    it has done by then and what it still does has been given to others too: it comes twice.
    """
    raylet = _raylet(sweep.nodes_at_work()[0])
    family = [raylet, *measuring(raylet)]
    seconds = _until_lost(
        sweep,
        lambda: [os.kill(one, signal.SIGSTOP) for one in family],
        lambda: [_signal(one, signal.SIGCONT) for one in family],
    )
    sweep.note("a node was cut off until it was taken for lost", seconds=seconds)
    added(sweep.cluster)


def cut_the_network(sweep: Sweep) -> None:
    """Lose every packet of a node until it is taken for lost; then the cable is plugged in again.

    Its processes know nothing of it, go on with what they had, and say so to nobody.
    """
    wired = sweep.wired
    if wired is None:
        sweep.note("no network was cut: that takes root and network namespaces")
        return
    wait_for(lambda: set(sweep.own_actors()) & set(wired.family), "the node behind a cable")
    seconds = _until_lost(sweep, wired.pull, wired.plug)
    sweep.note("a node's cable was pulled until it was taken for lost", seconds=seconds)


def _until_lost(sweep: Sweep, begin: Callable[[], Any], end: Callable[[], Any]) -> float:
    """Do something to a node until it is taken for lost; return how many seconds that took."""
    before, began = sweep.said("is lost"), time.monotonic()
    begin()
    try:
        wait_for(lambda: sweep.said("is lost") > before or sweep.has_ended, "its loss", 180.0)
    finally:
        end()
    return round(time.monotonic() - began, 1)


def slow_down_a_node(sweep: Sweep, seconds: float = 6.0) -> None:
    """Let what measures on a node stand still for a while, which is no reason to give it up."""
    family = [one for actor in sweep.own_actors()[:1] for one in (actor, *measuring(actor))]
    for one in family:
        _signal(one, signal.SIGSTOP)
    time.sleep(seconds)
    for one in family:
        _signal(one, signal.SIGCONT)
    sweep.note("an actor stood still", seconds=seconds)


def kill_the_driver(sweep: Sweep) -> None:
    """Kill the driver; the same command goes on."""
    assert sweep.driver is not None
    family = [one for actor in sweep.own_actors() for one in (actor, *measuring(actor))]
    sweep.driver.kill()
    sweep.driver.wait()
    began = time.monotonic()
    wait_for(lambda: not any(map(_is_there, family)), "the end of a dead driver's processes")
    after = time.monotonic() - began
    sweep.note("the driver was killed; its workers ended", seconds=round(after, 1))
    sweep.begin()


def interrupt_the_driver(sweep: Sweep) -> None:
    """Press Ctrl-C; the same command goes on."""
    assert sweep.driver is not None
    began = time.monotonic()
    sweep.driver.send_signal(signal.SIGINT)
    code = sweep.driver.wait(120)
    after = time.monotonic() - began
    sweep.note("Ctrl-C", code=code, seconds=round(after, 1))
    sweep.begin()


HARMS: tuple[Callable[[Sweep], None], ...] = (
    kill_an_actor,
    kill_a_node,
    kill_the_driver,
    cut_off_a_node,
    cut_the_network,
    slow_down_a_node,
    interrupt_the_driver,
)


def _raylet(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)


def _signal(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def _is_there(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"
