"""What may become of a program's arrays, web by web, where that may free something.

A web stands in the way of loops by memory, or it does not
(:mod:`polygym.compiler.storage.obstacles`); those that do are offered another home: an array of
their own where their array has several webs, an element for each iteration of the loops that they
are in the way of, of all loops around them, or for each value. ::

    temp2 of symm, in the way of i and j      expand:i,j      expand
    w of two nests, in the way of i in each   rename   expand:i   expand:i,j

Nothing is offered that isl cannot prove to be right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.isl_budget import bounded
from polygym.compiler.storage.apply import applied
from polygym.compiler.storage.obstacles import obstacles, source_loops
from polygym.compiler.storage.plan import Along, Entry, StoragePlan, plan_of
from polygym.compiler.storage.webs import Web, webs_of
from polygym.errors import InputError, LimitError


@dataclass(frozen=True, slots=True)
class Offer:
    """A web and what may become of it beside staying; ``in_the_way`` are loops that it may free."""

    array: str
    statements: tuple[str, ...]
    reads: int
    is_read_before: bool
    is_seen_after: bool
    around: tuple[str, ...]
    in_the_way: tuple[str, ...]
    entries: tuple[Entry, ...]


@lru_cache(maxsize=64)
def offers(scop: Scop) -> tuple[Offer, ...]:
    """Return what is offered of a program's webs, in the order of its arrays.

    Raises:
        LimitError: it would take isl too long.
    """
    loops = source_loops(scop)
    with bounded("what stands in the way of loops"):
        ways = obstacles(scop, loops)
    found: list[Offer] = []
    for array in scop.arrays:
        memory = {loop.key for loop in loops if array.name in ways.loops[loop.key][1]}
        if not memory:
            continue
        try:
            with bounded(f"what becomes of {array.name}"):
                webs = webs_of(scop, array.name)
        except (InputError, LimitError):  # computed subscripts, or too irregular
            continue
        for web in webs:
            touching = web.names | {read.statement for read in web.reads}
            around = [loop for loop in loops if touching <= loop.places.keys()]
            names = tuple(loop.name for loop in around)
            live = tuple(loop.name for loop in around if loop.key in memory)
            entries = tuple(_provable(scop, _entries(web, live, names, len(webs) > 1)))
            if entries:
                is_seen = scop.array(web.array).is_seen_after and not web.last.is_empty()
                found.append(
                    Offer(
                        web.array,
                        tuple(one.name for one in web.writers),
                        len(web.reads),
                        web.is_read_before,
                        is_seen,
                        names,
                        live,
                        entries,
                    )
                )
    return tuple(found)


def _entries(
    web: Web, live: tuple[str, ...], around: tuple[str, ...], is_one_of_several: bool
) -> Iterator[Entry]:
    """Yield what a web may become, each different from those before."""
    wanted: list[tuple[Along, ...] | None] = [()] if is_one_of_several else []
    wanted += [tuple(map(Along, names)) for names in (live, around) if names]
    if max(one.depth for one in web.writers) > len(around):
        wanted.append(None)
    for alongs in dict.fromkeys(wanted):
        yield Entry(web.array, alongs, web.writers[0].name)


def _provable(scop: Scop, entries: Iterator[Entry]) -> Iterator[Entry]:
    """Yield the entries of which isl can tell that they change no value."""
    for entry in entries:
        if homes_of(scop, plan_of([entry], contracts=True)) is not None:
            yield entry


def homes_of(scop: Scop, plan: StoragePlan) -> Scop | None:
    """Return the program under a plan; None where isl cannot prove it to be right, or not soon."""
    try:
        return applied(scop, plan)
    except (InputError, LimitError):
        return None
