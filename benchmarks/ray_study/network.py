"""A node of Ray behind a cable of its own, which can be pulled: a network namespace of Linux.

A cable is a pair of virtual interfaces, one here and one in the namespace, with an address each. A
pulled one loses every packet, in both directions, of connections that are open too; nobody is told.
That takes root and ``ip`` (of iproute2).
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ray_study.ray_nodes import STORE_BYTES, measuring_processes, wait_for

_HOST_ADDRESS, _NODE_ADDRESS = "10.211.77.1", "10.211.77.2"
_RAY = "from ray.scripts.scripts import main; main()"


@dataclass(frozen=True, slots=True)
class NetworkNode:
    """A node in a namespace, and its cable's end on this side."""

    namespace: str
    interface: str
    node: subprocess.Popen[bytes]

    @property
    def processes(self) -> list[int]:
        """The processes of polygym's that are at work there."""
        return measuring_processes(self.node.pid)

    def pull(self) -> None:
        """Lose every packet from now on."""
        _ip("link", "set", self.interface, "down")

    def plug(self) -> None:
        """Let packets through again."""
        _ip("link", "set", self.interface, "up")


def can_create_namespaces() -> bool:
    """Whether this process may make namespaces and cables."""
    if os.geteuid() or shutil.which("ip") is None:
        return False
    try:
        with _virtual_cable():
            return True
    except subprocess.CalledProcessError:
        return False


@contextmanager
def network_node(cluster: Any) -> Iterator[NetworkNode]:
    """Give one more node of a cluster, behind a cable."""
    nodes = len(_alive_nodes(cluster))
    with _virtual_cable() as (space, cable):
        node = subprocess.Popen(
            [
                *("ip", "netns", "exec", space, sys.executable, "-c", _RAY, "start", "--block"),
                *(
                    f"--address={cluster.address}",
                    f"--node-ip-address={_NODE_ADDRESS}",
                    "--num-cpus=1",
                ),
                *('--resources={"measuring": 1}', f"--object-store-memory={STORE_BYTES}"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_for(lambda: len(_alive_nodes(cluster)) > nodes, "the node behind a cable")
            yield NetworkNode(space, cable, node)
        finally:
            _end(space)
            node.wait()


@contextmanager
def _virtual_cable() -> Iterator[tuple[str, str]]:
    """Give the name of a new namespace and of the cable's end on this side."""
    space = cable = f"pg{os.getpid()}"
    inside = ("-n", space)
    _ip("netns", "add", space)
    try:
        _ip("link", "add", cable, "type", "veth", "peer", "name", "there", "netns", space)
        _ip("addr", "add", f"{_HOST_ADDRESS}/30", "dev", cable)
        _ip("link", "set", cable, "up")
        _ip(*inside, "addr", "add", f"{_NODE_ADDRESS}/30", "dev", "there")
        _ip(*inside, "link", "set", "there", "up")
        _ip(*inside, "link", "set", "lo", "up")
        _ip(*inside, "route", "add", "default", "via", _HOST_ADDRESS)
        yield space, cable
    finally:
        subprocess.run(["ip", "link", "del", cable], check=False, capture_output=True)
        _ip("netns", "del", space)


def _end(space: str) -> None:
    """End all that still runs in a namespace."""
    deadline = time.monotonic() + 10.0
    while left := _ip("netns", "pids", space).split():
        for pid in left:
            try:
                os.kill(int(pid), signal.SIGTERM if time.monotonic() < deadline else signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.2)


def _alive_nodes(cluster: Any) -> list[str]:
    """Return the nodes that the cluster knows."""
    return [node["NodeID"] for node in cluster.global_state.node_table() if node["Alive"]]


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout
