"""``polygym cluster``: how the nodes of a Ray cluster are."""

from contextlib import closing
from typing import Any

import click

from polygym.cli.options.common import json_option
from polygym.cli.output.console import CommandResult, format_seconds, print_table, write_text
from polygym.search.runner.ray.fleet.transport import parse_address
from polygym.search.runner.ray.ray_transport import RayTransport, cluster_status

_STATUS_HELP = """Show the state of the nodes: resources and work. Measures nothing.

ADDRESS is that of the head, such as 10.0.0.1:6379; without it, the cluster that RAY_ADDRESS names,
or the one that this machine belongs to. A node whose measuring slot no driver has asked for yet is
idle; one that does not offer a slot is not measured on.

Exit code 1: no node that is alive offers a measuring slot.

\b
Example:
  polygym cluster status 10.0.0.1:6379 --json
"""


@click.group("cluster")
def command() -> None:
    """Show the state of the nodes of a Ray cluster (see docs/guides/cluster.md)."""


@command.command("status", help=_STATUS_HELP)
@click.argument("address", default="auto", metavar="[ADDRESS]")
@json_option
def status_command(address: str, as_json: bool) -> CommandResult:
    """Ask the cluster and print."""
    text = address if "://" not in address else parse_address(address).text
    with closing(RayTransport(text)) as transport:
        nodes = cluster_status(transport)
    code = int(not any(node["alive"] and node["measuring"] for node in nodes))
    if as_json:
        return CommandResult(code, {"nodes": nodes})
    print_table(
        ("NODE", "HOST", "STATE", "CPUS", "SLOTS", "CLOCK", "KIND", "JOB"),
        [_row(node) for node in nodes],
        "lllrrrll",
    )
    if code:
        write_text(
            "no node offers a measuring slot: ray start --resources='{\"measuring\": 1}'", err=True
        )
    return CommandResult(code)


def _row(node: dict[str, Any]) -> tuple[object, ...]:
    worker = node["worker"] or {}
    return (
        node["node"][:8],
        node["host"],
        _state(node),
        f"{node['cpus']:g}",
        node["measuring"],
        format_seconds(worker.get("clock_seconds")),
        worker.get("kind", "-"),
        worker.get("about") or "-",
    )


def _state(node: dict[str, Any]) -> str:
    if not node["alive"]:
        return "lost"
    if not node["measuring"]:
        return "no slot"
    if node["worker"] is None:
        return "idle"
    return "busy" if node["worker"]["about"] else "hired"
