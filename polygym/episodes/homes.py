"""What a program begins with, without a search: where it keeps its values, cuts, and a schedule.

Loops that are free are no gain in themselves: new arrays take memory, and pieces take code. So the
rules that find a plan (:mod:`polygym.compiler.storage.choose`) and cuts
(:mod:`polygym.compiler.poly.splitting.choose`) make no more than candidates, three at most::

    as written      expanded, where memory alone is in the way of loops
                    the same, private to threads
                    else cut, where isl's schedule leaves no loop parallel

each with the schedule that it gets without a search, under the mapping, with the smaller arrays
that are left of its new ones under that schedule. Two models (:mod:`polygym.episodes.automatic`)
look at their planned loops, and another one is taken if what it promises beside the program as it
was written is more than :data:`LEAST`. The static score (:mod:`polygym.compiler.poly.score`), which
sees parallel loops and strides and knows no sizes, has to be of the same opinion. And memory which
comes fresh in each run takes its time, whatever is done with it (:data:`FRESH`): new arrays of
72 MB take 9 ms to be there, and if the loops are expected to run 5 ms, 2^1.5 is taken off what is
promised.

On 101 random programs that the models had not learned from, each measured in all of its homes, what
is taken is 2.68 times as fast as the program as it was written with its automatic schedule, where
the fastest would be 2.96 times as fast, and three are slower by more than 5 %. Models that had seen
no program in two homes gained 2.00 of 2.68 and made six slower, one of them twelve times.

Example, two threads at LARGE: symm expanded, 2^3.1 and 0.64 instead of 0.47, is taken, and is 32
times as fast as the source instead of 1.4; durbin expanded, 2^0.28 and 0.64 instead of 0.63, is
not, and would be as fast as before.

Most programs have nothing to choose from, and it takes a few isl operations to see it: no memory
is in the way, and some loop is parallel. What isl would take too long for is left out. Nothing is
run, and the answer is remembered (:mod:`polygym.episodes.kept_homes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import log2
from typing import Any

from polygym.compiler.codegen.common.machine import this_machine
from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.codegen.common.sizes import Sizes, own_sizes
from polygym.compiler.codegen.contraction import legal_under
from polygym.compiler.codegen.llvm.heap import MOST_KEPT
from polygym.compiler.ir.scop import Storage
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.score import static_score
from polygym.compiler.poly.splitting.choose import quick_splitting
from polygym.compiler.poly.splitting.cuts import WHOLE
from polygym.compiler.storage.price import bytes_of
from polygym.cost.candidate import NAMES
from polygym.cost.nests import Floats
from polygym.cost.own_memory import has_own, settled_under
from polygym.episodes import kept_homes
from polygym.episodes.automatic import Choice, Setting, choose, choose_within, promised, vector_of
from polygym.episodes.kept_homes import Home, Ranking
from polygym.errors import InputError, LimitError, PolygymError
from polygym.measure.evaluation.patience import homes_within
from polygym.pickles import pickled_by_name
from polygym.programs import Program
from polygym.programs.pieces import in_pieces
from polygym.programs.stored import stored, with_chosen_storage

LEAST = 0.3
"""What has to be promised: 2^0.3 is a quarter faster, more than of schedules alone."""

MOST_HOMES = 3
"""How many there are of a program at most."""

SPARED = 0.1
"""So much less may be promised of what is private to threads than of the same in memory."""

_CYCLES = NAMES.index("total_cycles")

FRESH = 0.4
"""How many cycles a byte takes of new arrays that are too large to be kept for the next run.

A page of the system is filled with zeros before it is touched: 8 to 10 GB/s.
"""


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Beginning:
    """A program as the models would have it, and what it was chosen among.

    ``choice`` is that of its schedule, None where it has not been made.
    """

    program: Program
    ranking: Ranking
    choice: Choice | None = None

    def to_json(self) -> dict[str, Any]:
        """Return where the program is cut and keeps its values, and the candidates."""
        return {
            "splitting": str(self.program.splitting),
            "storage": str(self.program.storage),
            "least": LEAST,
            "ranking": [one.to_json() for one in self.ranking],
        }


def home_of(program: Program, mapping: Mapping, limit: int) -> Program:
    """Return the program as the models would have it; as it is where they promise too little.

    Where it is cut already it stays cut as it is, and is expanded or not.
    """
    return _begun(program, mapping, limit).program


def beginning(program: Program, mapping: Mapping, limit: int) -> Beginning:
    """Return the program as the models would have it, with its automatic schedule.

    Raises:
        LimitError: isl would take too long for the schedule.
    """
    found = _begun(program, mapping, limit)
    if found.choice is not None:
        return found
    scop = found.program.scop
    choice = choose_within(scop, own_sizes(scop, dict(found.program.parameters)), mapping)
    return replace(found, choice=choice)


def is_better(one: Home, first: Home) -> bool:
    """Whether a home is to be taken before the program as it is."""
    if one.promise is None or one.score is None or first.score is None:
        return False
    return one.promise > LEAST and one.score > first.score


def _begun(program: Program, mapping: Mapping, limit: int) -> Beginning:
    """Return what is remembered, else what is found now, and is remembered then."""
    program = in_pieces(program, program.splitting)
    question = kept_homes.question(program, mapping, limit, LEAST)
    if (known := kept_homes.recall(question)) is not None:
        try:
            return _settled(program, known, limit)
        except (InputError, LimitError):
            pass  # what is kept was damaged
    try:
        found = homes_within(partial(judged, program, mapping, limit), program.scop)
    except (PolygymError, MemoryError, RecursionError):
        return Beginning(program, (Home(program.splitting, program.storage),))
    kept_homes.keep(question, found.ranking)
    return found


def _settled(program: Program, ranking: Ranking, limit: int) -> Beginning:
    """Return the program as a ranking has it that was made before."""
    home = ranking[_taken(ranking)]
    if home.splitting != program.splitting:
        program = in_pieces(program, home.splitting)
    if not home.storage.keeps:
        program = stored(program, home.storage, limit)
    return Beginning(program, ranking)


def judged(program: Program, mapping: Mapping, limit: int) -> Beginning:
    """Return what the models take, without a look at the clock."""
    seen: list[tuple[Program, Choice]] = []
    vectors: list[Floats | None] = []
    scores: list[float | None] = []
    waits: list[float] = []
    for one in candidates(program, mapping, limit):
        sizes = own_sizes(one.scop, dict(one.parameters))
        try:
            choice = choose(one.scop, sizes, mapping)
            legal = legal_under(one.storage, one.scop, choice.schedule)
            score = static_score(one.scop, choice.schedule)
        except PolygymError:
            if not seen:
                raise
            continue
        if seen and one.storage.has_private and not has_own(legal):
            continue  # as expanded
        seen.append((one, choice))
        scores.append(score)
        vectors.append(vector_of(legal, Setting(sizes, mapping, this_machine())))
        waits.append(_waiting(legal, sizes, vectors[-1]))
    ranking = tuple(
        Home(one.splitting, one.storage, promise if promise is None else promise - wait, score)
        for (one, _), promise, wait, score in zip(
            seen, promised(vectors), waits, scores, strict=True
        )
    )
    taken, choice = seen[_taken(ranking)]
    return Beginning(taken, ranking, choice)


def _taken(ranking: Ranking) -> int:
    """Return the place of what promises most of what is better than the first, else 0."""
    first, *others = ranking
    better = [place for place, one in enumerate(others, 1) if is_better(one, first)]
    return max(better, key=lambda place: _preference(ranking[place]), default=0)


def _preference(home: Home) -> float:
    """Return what is promised of a home, and a little more where it wants less memory."""
    return (home.promise or 0.0) + (SPARED if home.storage.has_private else 0.0)


def homes_of(program: Program, mapping: Mapping, limit: int) -> tuple[Program, ...]:
    """Return the program as it is and in all other homes that models choose among, in order.

    Raises:
        LimitError: isl would take too long.
    """
    return homes_within(partial(_every, program, mapping, limit), program.scop)


def _every(program: Program, mapping: Mapping, limit: int) -> tuple[Program, ...]:
    return tuple(candidates(in_pieces(program, program.splitting), mapping, limit))


def candidates(program: Program, mapping: Mapping, limit: int) -> Iterator[Program]:
    """Yield the program as it is, and expanded or cut, where something may be gained by it."""
    yield program
    try:
        expanded = with_chosen_storage(program, limit)
    except (InputError, LimitError):
        expanded = program
    if not expanded.storage.keeps:
        yield expanded
        yield from _private(expanded, limit)
    elif program.splitting == WHOLE and (cut := _cut(program, mapping)) is not None:
        yield cut


def _private(expanded: Program, limit: int) -> Iterator[Program]:
    """Yield a program that is expanded with what is expanded private to threads, if that may be."""
    plan = expanded.storage
    entries = tuple(replace(one, is_private=True) for one in plan.entries)
    with suppress(InputError, LimitError):
        yield stored(expanded, replace(plan, entries=entries), limit)


def _waiting(legal: LegalSchedule, sizes: Sizes, vector: Floats | None) -> float:
    """Return how much longer, as a power of two, a program takes whose new arrays are fresh."""
    arrays = settled_under(legal).arrays
    fresh = sum(
        bytes_of(one, sizes) for one in arrays if one.storage is Storage.SCRATCH and one.rank
    )
    if vector is None or fresh <= MOST_KEPT:
        return 0.0
    return log2(1.0 + FRESH * fresh / 2.0 ** float(vector[_CYCLES]))


def _cut(program: Program, mapping: Mapping) -> Program | None:
    """Return the program cut, None where nothing is gained by it, or not soon."""
    scop = program.scop
    try:
        usual = choose(scop, own_sizes(scop, dict(program.parameters)), mapping).ranking[0]
        found = quick_splitting(scop, usual.schedule)
    except PolygymError:
        return None
    return None if found == WHOLE else in_pieces(program, found)
