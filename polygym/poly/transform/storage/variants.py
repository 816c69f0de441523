"""What may become of a program's arrays, web by web, where that may free something.

A web stands in the way of loops by memory, or it does not
(:mod:`polygym.poly.transform.storage.loop_inhibitors`); those that do are offered another home: an
array of their own where their array has several webs, an element for each iteration of the loops
that they are in the way of, of all loops around them, or for each value. ::

    temp2 of symm, in the way of i and j      expand:i,j      expand
    w of two nests, in the way of i in each   rename   expand:i   expand:i,j

Nothing is offered that isl cannot prove to be right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.inhibitors import loop_inhibitors, source_loops
from polygym.poly.transform.storage.plan import ExpansionLoop, StorageEntry, StoragePlan, plan_of
from polygym.poly.transform.storage.webs import Web, webs_of


@dataclass(frozen=True, slots=True)
class WebVariants:
    """A web and its possible storage; ``inhibited_loops`` are loops that it may free."""

    array: str
    statements: tuple[str, ...]
    reads: int
    is_live_in: bool
    is_live_out: bool
    enclosing_loops: tuple[str, ...]
    inhibited_loops: tuple[str, ...]
    entries: tuple[StorageEntry, ...]


@lru_cache(maxsize=64)
def storage_variants(scop: Scop) -> tuple[WebVariants, ...]:
    """Return what is offered of a program's webs, in the order of its arrays.

    Raises:
        LimitError: it would take isl too long.
    """
    loops = source_loops(scop)
    with bounded_operations("what stands in the way of loops"):
        ways = loop_inhibitors(scop, loops)
    variants: list[WebVariants] = []
    for array in scop.arrays:
        memory = {loop.key for loop in loops if array.name in ways.loops[loop.key][1]}
        if not memory:
            continue
        try:
            with bounded_operations(f"what becomes of {array.name}"):
                webs = webs_of(scop, array.name)
        except (InputError, LimitError):  # computed subscripts, or too irregular
            continue
        for web in webs:
            touching = web.names | {read.statement for read in web.reads}
            around = [loop for loop in loops if touching <= loop.positions.keys()]
            names = tuple(loop.name for loop in around)
            live = tuple(loop.name for loop in around if loop.key in memory)
            entries = tuple(_provable(scop, _entries(web, live, names, len(webs) > 1)))
            if entries:
                is_seen = scop.array(web.array).is_observable and not web.live_out.is_empty()
                variants.append(
                    WebVariants(
                        web.array,
                        tuple(statement.name for statement in web.writers),
                        len(web.reads),
                        web.is_live_in,
                        is_seen,
                        names,
                        live,
                        entries,
                    )
                )
    return tuple(variants)


def _entries(
    web: Web, live: tuple[str, ...], around: tuple[str, ...], is_one_of_several: bool
) -> Iterator[StorageEntry]:
    """Yield what a web may become, each different from those before."""
    wanted: list[tuple[ExpansionLoop, ...] | None] = [()] if is_one_of_several else []
    wanted += [tuple(map(ExpansionLoop, names)) for names in (live, around) if names]
    if max(statement.depth for statement in web.writers) > len(around):
        wanted.append(None)
    for alongs in dict.fromkeys(wanted):
        yield StorageEntry(web.array, alongs, web.writers[0].name)


def _provable(scop: Scop, entries: Iterator[StorageEntry]) -> Iterator[StorageEntry]:
    """Yield the entries of which isl can tell that they change no value."""
    for entry in entries:
        if apply_if_provable(scop, plan_of([entry], has_contraction=True)) is not None:
            yield entry


def apply_if_provable(scop: Scop, plan: StoragePlan) -> Scop | None:
    """Return the program under a plan; None where isl cannot prove it to be right, or not soon."""
    try:
        return apply_plan(scop, plan)
    except (InputError, LimitError):
        return None
