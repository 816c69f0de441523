"""Messages carried by Ray: sites are its nodes with the resource ``measuring``, workers its actors.

One actor per node holds the node's measuring slot; Ray places it there and counts the slots. The
actor has a name, and a second driver on the same cluster shares it: jobs of both follow one another
in the one process that measures on the node, so no two ever measure at once. It belongs to the
driver that came first and ends with it; the other one finds it gone and hires the node anew. When
the other one ends, it leaves the actor to its driver.

What goes through Ray is texts of JSON. The actor's class is found by its name on the node, where
polygym has to be installed; nothing of polygym's is pickled.

Status of a cluster's nodes: their offer, whether they measure, and their current job.

Nobody is hired and nothing is measured for that; a worker that is there is asked, and answers
beside its work.
"""

import json
import logging
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from polygym.errors import InputError, MissingLibraryError, PolygymError
from polygym.search.runner.ray.fleet.transport import Call, MeasuringSite, Worker, WorkerLostError
from polygym.search.runner.ray.node import MeasuringNode
from polygym.version import __version__

RESOURCE = "measuring"
NAMESPACE = "polygym"
ADDRESS = "RAY_ADDRESS"
"""The environment variable of Ray's by which it finds a cluster."""

_ANSWER_SECONDS = 5.0
_MAX_DRIVERS = 64  # that share a node; those whose turn has not come wait in its process
_TRIES = 3
_WORK, _TALK = "work", "talk"
_CONCURRENCY_GROUPS = {"greet": _WORK, "work": _WORK, "calibrate": _WORK}


def expect_ray() -> Any:
    """Return the package ray.

    Raises:
        InputError: it is not installed.
    """
    if find_spec("ray") is None:
        raise MissingLibraryError("--cluster", "ray", "ray")
    # Usage statistics would be sent from the machine; Ray asks the environment once.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray = import_module("ray")
    # Of nodes that end Ray prints pages, to standard output, whatever it is told of logs; a line of
    # JSON may have to stand there. The fleet says which nodes are lost, and why.
    inner: Any = import_module("ray._private.worker")
    if hasattr(inner, "print_to_stdstream"):
        inner.print_to_stdstream = lambda *_, **__: None
    return ray


class RayTransport:
    """A connection to a cluster, or to one that is begun on this machine alone."""

    def __init__(self, address: str = "", actor: type = MeasuringNode) -> None:
        """Connect; without an address, to what the environment names, or to a cluster of one node.

        ``actor`` is the class whose methods are called on the nodes.

        Raises:
            InputError: Ray is not installed, or nobody answers there.
        """
        self._ray = expect_ray()
        self._actor = actor
        self._own: list[Worker] = []
        self._began = not self._ray.is_initialized()
        if not self._began:
            return
        # Ray's own word for the address of its client begins as ours do.
        address = address or os.environ.get(ADDRESS, "").removeprefix("ray://")
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        common = {"namespace": NAMESPACE, **quiet}
        if not address:
            own: Any = {"resources": {RESOURCE: 1}, "include_dashboard": False}
            urgent = {"worker_niceness": 0}  # or workers give way to all others
            self._ray.init("local", _system_config=urgent, **own, **common)
            return
        _expect_answer(address)
        self._expect_head(address)
        try:
            self._ray.init(address, **common)
        except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
            said = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise InputError(
                f"--cluster ray://{address}: expected a Ray cluster that this machine belongs to, "
                f"found none: {said}"
            ) from None

    def _expect_head(self, address: str) -> None:
        """Refuse an address at which somebody else listens, such as the head's other ports.

        Ray would try for a quarter of an hour, deaf to Ctrl-C.

        Raises:
            InputError: what is there is no head.
        """
        inner: Any = import_module("ray._raylet")
        if ":" not in address or not hasattr(inner, "GcsClient"):
            return
        try:
            inner.GcsClient(address=address)
        except self._ray.exceptions.RayError as error:
            raise InputError(
                f"--cluster ray://{address}: expected the head of a Ray cluster (its --port), "
                f"found somebody else who listens: {error}"
            ) from None

    def sites(self) -> tuple[MeasuringSite, ...]:
        """Return the nodes that are alive and offer a measuring slot."""
        return tuple(
            MeasuringSite(
                node["NodeID"], node["NodeManagerHostname"], node["Resources"].get("CPU", 0.0)
            )
            for node in self._ray.nodes()
            if node["Alive"] and node["Resources"].get(RESOURCE, 0.0) >= 1
        )

    def nodes(self) -> list[dict[str, Any]]:
        """Return all nodes that are or were there, as Ray describes them."""
        return list(self._ray.nodes())

    def at_work(self, name: str) -> Worker | None:
        """Return the worker of a node, None where nobody has hired it."""
        try:
            return self._ray.get_actor(self._name(name), namespace=NAMESPACE)
        except ValueError:
            return None

    def _name(self, node: str) -> str:
        return f"polygym {__version__} {self._actor.__name__} {node}"

    def hire(self, site: MeasuringSite) -> Worker:
        """Return the actor of a node, which is made where there is none.

        Raises:
            LostError: others made one, and ended it, again and again.
        """
        for _ in range(_TRIES):
            if (worker := self.at_work(site.name)) is not None:
                return worker
            with suppress(ValueError):  # another driver has been faster
                worker = self._made(site)
                self._own.append(worker)
                return worker
        raise WorkerLostError(f"{site.host}: expected a worker, found one that came and went")

    def _made(self, site: MeasuringSite) -> Worker:
        """Return a new actor of a node.

        Raises:
            ValueError: there is one.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        groups = {_WORK: _MAX_DRIVERS, _TALK: 2}
        remote = self._ray.remote(concurrency_groups=groups)(self._actor)
        return remote.options(
            name=self._name(site.name),
            namespace=NAMESPACE,
            num_cpus=0,
            resources={RESOURCE: 1},
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(site.name, soft=False),
        ).remote()

    def call(self, worker: Worker, method: str, text: str) -> Call:
        """Have an actor do something; its texts come in as a stream."""
        group = _CONCURRENCY_GROUPS.get(method, _TALK)
        options = {"num_returns": "streaming", "concurrency_group": group}
        return getattr(worker, method).options(**options).remote(text)

    def ready(self, calls: Sequence[Call], seconds: float) -> list[Call]:
        """Return the streams that have something, waiting for one of them so long."""
        if not calls:
            return []
        result: list[Call] = []
        for count, limit in ((1, seconds), (len(calls), 0.0)):
            result, _ = self._ray.wait(
                list(calls), num_returns=count, timeout=limit, fetch_local=False
            )
            if not result:
                return []
        return list(result)

    def take(self, call: Call) -> str | None:
        """Return the next text of a stream, None at its end.

        Raises:
            LostError: the actor or its node is gone, or fails.
        """
        try:
            return str(self._ray.get(next(call)))
        except StopIteration:
            return None
        except self._ray.exceptions.RayError as error:
            said = (str(error).strip() or type(error).__name__).splitlines()
            raise WorkerLostError(f"{type(error).__name__}: {said[-1][:300]}") from None

    def dismiss(self, worker: Worker) -> None:
        """End an actor at once; the processes that it has started end with it."""
        self._own = [actor for actor in self._own if actor is not worker]
        with suppress(self._ray.exceptions.RayError, PolygymError, ValueError):
            self._ray.kill(worker)

    def leave(self, worker: Worker) -> None:
        """End an actor that this driver has made; that of another one may be at work for it."""
        if any(actor is worker for actor in self._own):
            self.dismiss(worker)

    def close(self) -> None:
        """Leave the cluster; one that was begun for this ends."""
        if self._began and self._ray.is_initialized():
            self._ray.shutdown()


def _expect_answer(address: str) -> None:
    """Refuse an address at which nobody listens; Ray would try for minutes.

    Raises:
        InputError: it is one, or no address.
    """
    host, colon, port = address.rpartition(":")
    if not colon:
        return  # auto, and other words of Ray's
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS):
            return
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(
            f"--cluster ray://{address}: expected the head of a Ray cluster, found nobody who "
            f"answers: {error}"
        ) from None


def cluster_status(transport: RayTransport) -> list[dict[str, Any]]:
    """Return what there is to say of every node, those that measure first."""
    result = [_node(transport, node) for node in transport.nodes()]
    result.sort(
        key=lambda node: (not node["alive"], not node["measuring"], node["host"], node["node"])
    )
    return result


def _node(transport: RayTransport, node: dict[str, Any]) -> dict[str, Any]:
    offers, alive = node["Resources"], bool(node["Alive"])
    measuring = int(offers.get(RESOURCE, 0))
    return {
        "node": node["NodeID"],
        "host": node["NodeManagerHostname"],
        "alive": alive,
        "cpus": offers.get("CPU", 0.0),
        "measuring": measuring,
        "worker": _worker_status(transport, node["NodeID"]) if alive and measuring else None,
    }


def _worker_status(transport: RayTransport, name: str) -> dict[str, Any] | None:
    """Return what the worker of a node says, None where there is none or it does not answer."""
    worker = transport.at_work(name)
    if worker is None:
        return None
    call = transport.call(worker, "status", "")
    with suppress(WorkerLostError):
        if transport.ready([call], _ANSWER_SECONDS) and (text := transport.take(call)):
            (row,) = json.loads(text)
            return {name: value for name, value in row.items() if name != "row"}
    return None
