"""The default storage plan: it frees a loop and costs less than a limit.

Expanded is what stands in the way of a loop by memory alone (see
:mod:`polygym.poly.transform.storage.inhibitors`), along the loops that it frees and no others.
Arrays that would have to be copied in or out stay where they are:

1. every web of an array that is in the way of some loop around all of its writes and reads is
   expanded along these loops, the outermost ones left out until it is within the limit;
2. the loops of this program are compared with those of the source: which became parallel, or may
   now be permuted with their neighbour?
3. what frees none is left as it is, and the rest is expanded along the loops that are free now.

The limit is the user's, and a few times what the program's own arrays take. Where no loop is freed
the program stays as it is. What is expanded is contracted again when the schedule is known.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polygym.errors import InputError
from polygym.ir.scop import Scop
from polygym.poly.transform.storage import memory_cost
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.inhibitors import (
    LoopInhibitors,
    SourceLoop,
    loop_inhibitors,
    source_loops,
)
from polygym.poly.transform.storage.plan import (
    SOURCE_STORAGE,
    ExpansionLoop,
    StorageEntry,
    StoragePlan,
    plan_of,
)
from polygym.poly.transform.storage.versions import ArrayVersions, versions_for_web
from polygym.poly.transform.storage.webs import Web, webs_of

_ROUNDS = 4

# New arrays may be so many times as large as the program's own. More memory takes longer to fill
# than a parallel loop saves.
_MOST_GROWTH = 4

# An array may be copied in or out that is smaller than all of them by so much.
_NEGLIGIBLE = 64


@dataclass(frozen=True, eq=False)
class ExpansionCandidate:
    """A web that stands in the way by memory, and the loops around all of it of which it does."""

    web: Web
    loops: tuple[SourceLoop, ...]

    def entry(self, loops: tuple[SourceLoop, ...]) -> StorageEntry:
        """Return the entry that expands the web along some of the loops."""
        alongs = tuple(ExpansionLoop(loop.name) for loop in loops)
        return StorageEntry(self.web.array, alongs, self.web.writers[0].name)


def default_plan(
    scop: Scop,
    sizes: Mapping[str, int] | None,
    memory_limit: int = memory_cost.DEFAULT_MEMORY_LIMIT,
) -> StoragePlan:
    """Return the plan of a program at these sizes; KEEP where no loop would be the better for it.

    Where no sizes are known nothing is too much.

    Raises:
        LimitError: it would take isl too long.
    """
    if sizes is not None:
        memory_limit = min(
            memory_limit,
            _MOST_GROWTH * sum(memory_cost.array_bytes(array, sizes) for array in scop.arrays),
        )
    loops = source_loops(scop)
    before = loop_inhibitors(scop, loops)
    chosen: dict[ExpansionCandidate, StorageEntry] = {}
    for candidate in expansion_candidates(scop, loops, before, _negligible(scop, sizes)):
        entry = _largest_affordable(scop, candidate, sizes, memory_limit)
        if entry is not None:
            chosen[candidate] = entry
    for _ in range(_ROUNDS):
        if not chosen:
            return SOURCE_STORAGE
        plan = plan_of(chosen.values(), has_contraction=True)
        try:
            program = apply_plan(scop, plan)
        except InputError:  # together, or one of them alone, too irregular for the proof
            chosen = {
                candidate: entry for candidate, entry in chosen.items() if _is_provable(scop, entry)
            }
            if plan == plan_of(chosen.values(), has_contraction=True):
                return SOURCE_STORAGE
            continue
        if sizes is not None and memory_cost.new_array_bytes(program, sizes) > memory_limit:
            del chosen[_most_expensive(scop, chosen, sizes)]
            continue
        free = before.freed_loops(loop_inhibitors(program, loops))
        needed = {
            expansion_candidate: expansion_candidate.entry(kept)
            for expansion_candidate, entry in chosen.items()
            if (
                kept := tuple(
                    loop for loop in _expanded_loops(expansion_candidate, entry) if loop.key in free
                )
            )
        }
        if needed == chosen:
            return plan
        chosen = needed
    return SOURCE_STORAGE


def expansion_candidates(
    scop: Scop, loops: tuple[SourceLoop, ...], before: LoopInhibitors, negligible: frozenset[str]
) -> Iterator[ExpansionCandidate]:
    """Yield the webs that stand in the way of loops by memory.

    Only ``negligible`` arrays, and scalars, are copied in or out.
    """
    memory = {array for _, arrays in before.loops.values() for array in arrays}
    for array in scop.arrays:
        if array.name not in memory:
            continue
        try:
            webs = webs_of(scop, array.name)
        except InputError:  # computed subscripts, or too irregular
            continue
        for web in webs:
            if array.name not in negligible and _is_copied(scop, web):
                continue
            touching = web.names | {read.statement for read in web.reads}
            own = tuple(
                loop
                for loop in loops
                if touching <= loop.positions.keys() and array.name in before.loops[loop.key][1]
            )
            if own:
                yield ExpansionCandidate(web, own)


def _negligible(scop: Scop, sizes: Mapping[str, int] | None) -> frozenset[str]:
    """Return scalars, and arrays whose copies are next to nothing; without sizes there are none."""
    scalars = frozenset(array.name for array in scop.arrays if not array.rank)
    if sizes is None:
        return scalars
    own = {array.name: memory_cost.array_bytes(array, sizes) for array in scop.arrays}
    most = sum(own.values()) / _NEGLIGIBLE
    return scalars | {name for name, taken in own.items() if taken <= most}


def _is_provable(scop: Scop, entry: StorageEntry) -> bool:
    """Whether isl can tell that an expansion alone changes no value."""
    try:
        apply_plan(scop, plan_of([entry], has_contraction=True))
    except InputError:
        return False
    return True


def _is_copied(scop: Scop, web: Web) -> bool:
    """Whether a web needs copies in or out, with which isl's scheduler likes to fuse its nests."""
    is_left = scop.array(web.array).is_observable and not web.live_out.is_empty()
    return web.is_live_in or is_left


def _expanded_loops(candidate: ExpansionCandidate, entry: StorageEntry) -> tuple[SourceLoop, ...]:
    """Return the loops of a candidate along which an entry expands it."""
    names = {along.loop for along in entry.loops or ()}
    return tuple(loop for loop in candidate.loops if loop.name in names)


def _largest_affordable(
    scop: Scop, candidate: ExpansionCandidate, sizes: Mapping[str, int] | None, limit: int
) -> StorageEntry | None:
    """Return the entry along as many of a candidate's inner loops as the limit allows."""
    for first in range(len(candidate.loops)):
        entry = candidate.entry(candidate.loops[first:])
        try:
            versions = versions_for_web(scop, candidate.web, entry)
        except InputError:
            continue
        if sizes is None or _web_bytes(scop, candidate, versions, sizes) <= limit:
            return entry
    return None


def _most_expensive(
    scop: Scop, chosen: Mapping[ExpansionCandidate, StorageEntry], sizes: Mapping[str, int]
) -> ExpansionCandidate:
    def cost(candidate: ExpansionCandidate) -> int:
        return _web_bytes(
            scop, candidate, versions_for_web(scop, candidate.web, chosen[candidate]), sizes
        )

    return max(chosen, key=cost)


def _web_bytes(
    scop: Scop, candidate: ExpansionCandidate, versions: ArrayVersions, sizes: Mapping[str, int]
) -> int:
    """Return how many bytes a web takes in so many versions."""
    return memory_cost.version_bytes(scop.array(candidate.web.array), versions.sizes, sizes)
