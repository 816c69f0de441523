"""Status of a cluster's nodes: their offer, whether they measure, and their current job.

Nobody is hired and nothing is measured for that; a worker that is there is asked, and answers
beside its work.
"""

import json
from contextlib import suppress
from typing import Any

from polygym.search.runner.ray.fleet.transport import WorkerLostError
from polygym.search.runner.ray.ray_transport import RESOURCE, RayTransport

_ANSWER_SECONDS = 5.0


def cluster_status(transport: RayTransport) -> list[dict[str, Any]]:
    """Return what there is to say of every node, those that measure first."""
    result = [_node(transport, node) for node in transport.nodes()]
    result.sort(key=lambda one: (not one["alive"], not one["measuring"], one["host"], one["node"]))
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
