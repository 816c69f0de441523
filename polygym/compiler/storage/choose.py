"""Which plan a program gets without a search: what frees a loop, and costs less than a limit.

Expanded is what stands in the way of a loop by memory alone (see
:mod:`polygym.compiler.storage.obstacles`), along the loops that it frees and no others. Arrays that
would have to be copied in or out stay where they are:

1. every web of an array that is in the way of some loop around all of its writes and reads is
   expanded along these loops, the outermost ones left out until it is within the limit;
2. the loops of this program are compared with those of the source: which became parallel, or may
   now be permuted with their neighbour?
3. what frees none is left as it is, and the rest is expanded along the loops that are free now.

The limit is the user's, and a few times what the program's own arrays take. Where no loop is freed
the program stays as it is. What is expanded is contracted again when the schedule is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polygym.compiler.ir.scop import Scop
from polygym.compiler.storage.apply import applied
from polygym.compiler.storage.obstacles import Obstacles, SourceLoop, obstacles, source_loops
from polygym.compiler.storage.plan import KEEP, Along, Entry, StoragePlan, plan_of
from polygym.compiler.storage.price import USUAL_LIMIT, bytes_of, bytes_of_versions, price
from polygym.compiler.storage.versions import Versions, versions_of
from polygym.compiler.storage.webs import Web, webs_of
from polygym.errors import InputError

_ROUNDS = 4

# New arrays may be so many times as large as the program's own. More memory takes longer to fill
# than a parallel loop saves.
_MOST_GROWTH = 4

# An array may be copied in or out that is smaller than all of them by so much.
_NEGLIGIBLE = 64


@dataclass(frozen=True, eq=False)
class Candidate:
    """A web that stands in the way by memory, and the loops around all of it of which it does."""

    web: Web
    loops: tuple[SourceLoop, ...]

    def entry(self, loops: tuple[SourceLoop, ...]) -> Entry:
        """Return the entry that expands the web along some of the loops."""
        alongs = tuple(Along(loop.name) for loop in loops)
        return Entry(self.web.array, alongs, self.web.writers[0].name)


def chosen_plan(
    scop: Scop, sizes: Mapping[str, int] | None, limit: int = USUAL_LIMIT
) -> StoragePlan:
    """Return the plan of a program at these sizes; KEEP where no loop would be the better for it.

    Where no sizes are known nothing is too much.

    Raises:
        LimitError: it would take isl too long.
    """
    if sizes is not None:
        limit = min(limit, _MOST_GROWTH * sum(bytes_of(one, sizes) for one in scop.arrays))
    loops = source_loops(scop)
    before = obstacles(scop, loops)
    chosen: dict[Candidate, Entry] = {}
    for one in candidates(scop, loops, before, _negligible(scop, sizes)):
        entry = _affordable(scop, one, sizes, limit)
        if entry is not None:
            chosen[one] = entry
    for _ in range(_ROUNDS):
        if not chosen:
            return KEEP
        plan = plan_of(chosen.values(), contracts=True)
        try:
            program = applied(scop, plan)
        except InputError:  # together, or one of them alone, too irregular for the proof
            chosen = {one: entry for one, entry in chosen.items() if _is_provable(scop, entry)}
            if plan == plan_of(chosen.values(), contracts=True):
                return KEEP
            continue
        if sizes is not None and price(program, sizes) > limit:
            del chosen[_dearest(scop, chosen, sizes)]
            continue
        free = before.freed(obstacles(program, loops))
        needed = {
            one: one.entry(kept)
            for one, entry in chosen.items()
            if (kept := tuple(loop for loop in _named(one, entry) if loop.key in free))
        }
        if needed == chosen:
            return plan
        chosen = needed
    return KEEP


def candidates(
    scop: Scop, loops: tuple[SourceLoop, ...], before: Obstacles, negligible: frozenset[str]
) -> Iterator[Candidate]:
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
                if touching <= loop.places.keys() and array.name in before.loops[loop.key][1]
            )
            if own:
                yield Candidate(web, own)


def _negligible(scop: Scop, sizes: Mapping[str, int] | None) -> frozenset[str]:
    """Return scalars, and arrays whose copies are next to nothing; without sizes there are none."""
    scalars = frozenset(array.name for array in scop.arrays if not array.rank)
    if sizes is None:
        return scalars
    own = {array.name: bytes_of(array, sizes) for array in scop.arrays}
    most = sum(own.values()) / _NEGLIGIBLE
    return scalars | {name for name, taken in own.items() if taken <= most}


def _is_provable(scop: Scop, entry: Entry) -> bool:
    """Whether isl can tell that an expansion alone changes no value."""
    try:
        applied(scop, plan_of([entry], contracts=True))
    except InputError:
        return False
    return True


def _is_copied(scop: Scop, web: Web) -> bool:
    """Whether a web needs copies in or out, with which isl's scheduler likes to fuse its nests."""
    is_left = scop.array(web.array).is_seen_after and not web.last.is_empty()
    return web.is_read_before or is_left


def _named(one: Candidate, entry: Entry) -> tuple[SourceLoop, ...]:
    """Return the loops of a candidate along which an entry expands it."""
    names = {along.loop for along in entry.loops or ()}
    return tuple(loop for loop in one.loops if loop.name in names)


def _affordable(
    scop: Scop, one: Candidate, sizes: Mapping[str, int] | None, limit: int
) -> Entry | None:
    """Return the entry along as many of a candidate's inner loops as the limit allows."""
    for first in range(len(one.loops)):
        entry = one.entry(one.loops[first:])
        try:
            versions = versions_of(scop, one.web, entry)
        except InputError:
            continue
        if sizes is None or _price(scop, one, versions, sizes) <= limit:
            return entry
    return None


def _dearest(scop: Scop, chosen: Mapping[Candidate, Entry], sizes: Mapping[str, int]) -> Candidate:
    def cost(one: Candidate) -> int:
        return _price(scop, one, versions_of(scop, one.web, chosen[one]), sizes)

    return max(chosen, key=cost)


def _price(scop: Scop, one: Candidate, versions: Versions, sizes: Mapping[str, int]) -> int:
    """Return how many bytes a web takes in so many versions."""
    return bytes_of_versions(scop.array(one.web.array), versions.sizes, sizes)
