"""Where a program is cut and keeps its values by a model of cost: one of four, before any search.

Loops that are free are no gain in themselves: new arrays take memory, and pieces take code. So the
rules that find cuts and a plan (:mod:`polygym.episodes.recipes`) make no more than candidates, ::

    as written      cut      as written, expanded      cut, expanded

each with the schedule that it gets without a search, under the mapping, with the smaller arrays
that are left of its new ones under that schedule. Two models (:mod:`polygym.episodes.automatic`)
look at their planned loops, and the greatest promise beside the program as it was written is taken
if it is more than :data:`LEAST`. These models have learned from programs that keep their arrays; so
the static score (:mod:`polygym.compiler.poly.score`), which sees parallel loops and strides and
knows no sizes, has to be of the same opinion.

Example, two threads at LARGE: symm expanded, 2^3.7 and 0.64 instead of 0.47, is taken, and is 32
times as fast as the source instead of 1.4; durbin expanded, 2^-0.7 and 0.64 instead of 0.63, is
not, and would be as fast as before.

Nothing is run. A candidate for which isl would take too long is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from polygym.compiler.codegen.common.machine import this_machine
from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.codegen.common.sizes import own_sizes
from polygym.compiler.codegen.contraction import legal_under
from polygym.compiler.poly.score import static_score
from polygym.compiler.poly.splitting.cuts import WHOLE, Splitting
from polygym.compiler.storage.plan import KEEP, StoragePlan
from polygym.cost.nests import Floats
from polygym.episodes.automatic import Setting, choose, promised, vector_of
from polygym.errors import PolygymError
from polygym.measure.evaluation.patience import schedules_within, splitting_within
from polygym.pickles import pickled_by_name
from polygym.programs import Program
from polygym.programs.pieces import in_pieces
from polygym.programs.stored import with_chosen_storage

LEAST = 0.3
"""What has to be promised: 2^0.3 is a quarter faster, more than of schedules alone."""


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Home:
    """Cuts and a plan, what is promised of them beside the program as it was written, and a score.

    The score is the static one of the schedule; both are None where isl would take too long.
    """

    splitting: Splitting
    storage: StoragePlan
    promise: float | None = None
    score: float | None = None

    def is_better(self, first: Home) -> bool:
        """Whether it is to be taken before the program as it is."""
        if self.promise is None or self.score is None or first.score is None:
            return False
        return self.promise > LEAST and self.score > first.score


def home_of(program: Program, mapping: Mapping, limit: int, *, cuts: bool = True) -> Program:
    """Return the program as the models would have it; as it is where they promise too little.

    Without ``cuts``, and where it is cut already, it stays cut as it is.
    """
    first, *others = ranked(program, mapping, limit, cuts=cuts)
    better = [one for one in others if one.is_better(first)]
    if not better:
        return program
    taken = max(better, key=lambda one: one.promise or 0.0)
    return next(
        one
        for one in candidates(program, limit, cuts=cuts)
        if (one.splitting, one.storage) == (taken.splitting, taken.storage)
    )


def ranked(program: Program, mapping: Mapping, limit: int, *, cuts: bool = True) -> list[Home]:
    """Return the candidates with what is promised of each, the program as it is first."""
    every = list(candidates(program, limit, cuts=cuts))
    if len(every) > 1:
        try:
            return schedules_within(partial(_judged, every, mapping), program.scop)
        except PolygymError:
            pass
    return [Home(one.splitting, one.storage) for one in every]


def candidates(program: Program, limit: int, *, cuts: bool = True) -> Iterator[Program]:
    """Yield the program as it is, expanded, cut, and both, as far as these are different."""
    wholes = [replace(program, storage=KEEP)]
    if cuts and program.splitting == WHOLE:
        try:
            found = splitting_within(program.written)
        except PolygymError:
            found = WHOLE
        if found != WHOLE:
            wholes.append(in_pieces(program, found))
    for one in wholes:
        yield one
        try:
            expanded = with_chosen_storage(one, limit)
        except PolygymError:
            continue
        if not expanded.storage.keeps:
            yield expanded


def _judged(every: list[Program], mapping: Mapping) -> list[Home]:
    """Return what is promised of programs beside the first one, each under its own schedule."""
    vectors: list[Floats | None] = []
    scores: list[float | None] = []
    for program in every:
        sizes = own_sizes(program.scop, dict(program.parameters))
        try:
            schedule = choose(program.scop, sizes, mapping).schedule
            scores.append(static_score(program.scop, schedule))
            legal = legal_under(program.storage, program.scop, schedule)
        except PolygymError:
            scores[len(vectors) :] = [None]
            vectors.append(None)
            continue
        vectors.append(vector_of(legal, Setting(sizes, mapping, this_machine())))
    return [
        Home(one.splitting, one.storage, promise, score)
        for one, promise, score in zip(every, promised(vectors), scores, strict=True)
    ]
