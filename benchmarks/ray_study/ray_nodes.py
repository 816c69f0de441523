"""Nodes of Ray on this machine, and drivers as processes of their own.

Tests use them too.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

STORE_BYTES = 80_000_000
MINI_OPTIONS = ("--search-dataset", "mini", "--dataset", "mini", "--compile-time-limit", "120s",
        "--timeout-factor", "1000", "--strategy", "uniform")  # fmt: skip
"""Sizes at which all is quick; no limit that a busy machine could come to."""

CONFIG = {
    "health_check_initial_delay_ms": 2000,
    "health_check_period_ms": 2000,
    "health_check_timeout_ms": 4000,
    "health_check_failure_threshold": 3,
    "worker_niceness": 0,
}
"""A node that has said nothing for some seconds is lost; and what measures gives way to nobody."""


@contextmanager
def local_cluster(nodes: int) -> Iterator[Any]:
    """Give a cluster of a head, which measures nothing, and some nodes that do."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {
        "num_cpus": 0,
        "object_store_memory": STORE_BYTES,
        "include_dashboard": False,
        "_system_config": CONFIG,
    }
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(nodes):
            add_node(cluster)
        yield cluster
    finally:
        cluster.shutdown()


def add_node(cluster: Any, **environment: str) -> Any:
    """Return a new node of a cluster."""
    return cluster.add_node(
        num_cpus=1,
        resources={"measuring": 1},
        env_vars=environment,
        object_store_memory=STORE_BYTES,
    )


def start_sweep(
    folder: Path, address: str, *arguments: str, log: IO[str] | None = None
) -> subprocess.Popen[str]:
    """Start a sweep into a folder, on a cluster or here; what it says goes into a pipe or a log."""
    on = ("--cluster", f"ray://{address}") if address else ()
    command = (sys.executable, "-m", "polygym", "sweep", *arguments, *MINI_OPTIONS, *on)
    return subprocess.Popen(
        (*command, "--out", str(folder)),
        stdout=log or subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_for_end(process: subprocess.Popen[str], seconds: float = 400.0) -> str:
    """Wait for a process, and return what it said."""
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        raise AssertionError(f"it did not end in {seconds} s: {said}") from None
    return said


def sweep_episodes(folder: Path) -> set[tuple[Any, ...]]:
    """Return the episodes of a sweep with their schedules and statuses: all but times."""
    query = (
        "SELECT e.kernel, e.policy, e.number, o.schedule, o.status, e.reason FROM episodes e "
        "LEFT JOIN outcomes o ON o.number = e.outcome"
    )
    return set(query_rows(folder, query))


def query_rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """Return what the store of a sweep answers; nothing before there is one."""
    path = folder / "sweep.sqlite"
    if not path.exists():
        return []
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=10)
    try:
        return connection.execute(query).fetchall()
    except sqlite3.OperationalError:
        return []
    finally:
        connection.close()


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 240.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.05)


def node_actors() -> list[int]:
    """Return the processes that are nodes at work, of the clusters on this machine."""
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and b"ray::Node" in _command(entry)
    ]


def measuring_processes(root: int) -> list[int]:
    """Return the processes of polygym's that come from a process."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(text.rpartition(")")[2].split()[1])
    below, new = {root}, {root}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - below
        below |= new
    return sorted(below - {root})


def is_alive(process: int) -> bool:
    """Whether a process runs; one that is dead and not buried does not."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def _command(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""
