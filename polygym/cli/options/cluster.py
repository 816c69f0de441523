"""``--cluster``: measurements on the nodes of a cluster.

The fleet is imported only when the option is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from polygym.cli.output.console import write_text
from polygym.search.runner.ray.fleet.transport import ClusterAddress, parse_address

if TYPE_CHECKING:
    from polygym.search.runner.ray.fleet.fleet import Fleet

F = TypeVar("F", bound=Callable[..., Any])


def cluster_option(function: F) -> F:
    """Add ``--cluster``, an address or nothing."""
    return click.option(
        "--cluster",
        "on",
        callback=_parse_cluster,
        metavar="ray[://HOST:PORT]",
        help="Measure on a Ray cluster: that of RAY_ADDRESS, or of a head (needs polygym[ray] here "
        "and on the nodes). See docs/guides/cluster.md.",
    )(function)


def _parse_cluster(
    _: click.Context, __: click.Parameter, value: str | None
) -> ClusterAddress | None:
    """Return the cluster of an address."""
    if value is None:
        return None
    from polygym.search.runner.ray.ray_transport import expect_ray

    address = parse_address(value)
    expect_ray()
    return address


@contextmanager
def open_fleet(address: ClusterAddress) -> Iterator[Fleet]:
    """Open the fleet of a cluster, and release it at the end."""
    from polygym.search.runner.ray.fleet.fleet import Fleet
    from polygym.search.runner.ray.ray_transport import RayTransport

    with Fleet(RayTransport(address.text), lambda text: write_text(text, err=True)) as fleet:
        yield fleet
