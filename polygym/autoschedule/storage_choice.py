"""Default decisions without a search: storage variant, index-set splitting and schedule.

Loops that are free are no gain in themselves: new arrays take memory, and pieces take code. So the
rules that find a plan (:mod:`polygym.poly.transform.storage`) and cuts
(:mod:`polygym.poly.transform.splitting`) make no more than candidates, three at
most::

    as written      expanded, where memory alone is in the way of loops
                    the same, private to threads
                    else cut, where isl's schedule leaves no loop parallel
                    the same, or as written, with copies of what is read and then overwritten

each with the schedule that it gets without a search, under the mapping, with the smaller arrays
that are left of its new ones under that schedule. Two models
(:mod:`polygym.autoschedule.schedule_choice`) look at their planned loops, and another one is taken
if what it promises beside the program as it was written is more than :data:`LEAST_VARIANT_GAIN`.
The static score (:mod:`polygym.poly.scheduling.properties`), which sees parallel loops and strides
and knows no sizes, has to be of the same opinion. It sees no tiles: so for copies it is enough that
more loops may be in tiles together (:mod:`polygym.codegen.tree.analysis.band_width`). And memory
which comes fresh in each run takes its time, whatever is done with it (:data:`FRESH_MEMORY_COST`):
new arrays of 72 MB take 9 ms to be there, and if the loops are expected to run 5 ms, 2^1.5 is taken
off what is promised.

On 101 random programs that the models had not learned from, each measured in all of its storage
variants, what is taken is 2.68 times as fast as the program as it was written with its automatic
schedule, where the fastest would be 2.96 times as fast, and three are slower by more than 5 %.
Models that had seen no program in two storage variants gained 2.00 of 2.68 and made six slower, one
of them twelve times.

Example, two threads at LARGE: symm expanded, 2^3.1 and 0.64 instead of 0.47, is taken, and is 32
times as fast as the source instead of 1.4; durbin expanded, 2^0.28 and 0.64 instead of 0.63, is
not, and would be as fast as before.

Most programs have nothing to choose from, and it takes a few isl operations to see it: no memory
is in the way, and some loop is parallel. What isl would take too long for is left out. Nothing is
run, and the answer is remembered (:mod:`polygym.autoschedule.storage_cache`).
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import log2
from typing import Any

from polygym.autoschedule import storage_cache
from polygym.autoschedule.schedule_choice import (
    AutomaticSchedule,
    PlanningTarget,
    choose_schedule,
    choose_schedule_within,
    features_of,
    predicted_gains,
)
from polygym.autoschedule.storage_cache import StorageVariant, VariantRanking
from polygym.codegen.contraction import legal_with_storage
from polygym.codegen.llvm.core.memory_allocation import MAX_REUSED_BYTES
from polygym.codegen.tree.analysis.band_width import band_width
from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.features.candidates.private_arrays import (
    has_private_arrays,
    with_private_arrays_under,
)
from polygym.cost.features.loops.nests import Floats
from polygym.errors import InputError, LimitError, PolygymError
from polygym.ir.scop import StorageClass
from polygym.mapping.machine import this_machine
from polygym.mapping.mapping import Mapping
from polygym.mapping.sizes import Sizes, scop_sizes
from polygym.pickling import pickle_by_name
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.properties import static_score
from polygym.poly.transform.splitting.conditions import NO_SPLITTING
from polygym.poly.transform.splitting.selection import select_splitting_quickly
from polygym.poly.transform.storage.memory_cost import array_bytes
from polygym.poly.transform.storage.plan import plan_of
from polygym.poly.transform.storage.read_copies import default_read_copies
from polygym.programs import Program
from polygym.programs.stored_program import (
    apply_splitting_to,
    with_default_storage,
    with_storage_plan,
)
from polygym.runtime.evaluation.time_limits import storage_variants_within

LEAST_VARIANT_GAIN = 0.3
"""What has to be promised: 2^0.3 is a quarter faster, more than of schedules alone."""

MOST_VARIANTS = 3
"""How many there are of a program at most."""

MEMORY_PREFERENCE = 0.1
"""So much less may be promised of what is private to threads than of the same in memory."""

_CYCLES = FEATURE_NAMES.index("total_cycles")

FRESH_MEMORY_COST = 0.4
"""How many cycles a byte takes of new arrays that are too large to be kept for the next run.

A page of the system is filled with zeros before it is touched: 8 to 10 GB/s.
"""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class StartingProgram:
    """A program as the models would have it, and what it was chosen among.

    ``choice`` is that of its schedule, None where it has not been made.
    """

    program: Program
    ranking: VariantRanking
    choice: AutomaticSchedule | None = None

    def to_json(self) -> dict[str, Any]:
        """Return where the program is cut and keeps its values, and the candidates."""
        return {
            "splitting": str(self.program.splitting),
            "storage": str(self.program.storage),
            "least": LEAST_VARIANT_GAIN,
            "ranking": [variant.to_json() for variant in self.ranking],
        }


def best_variant(program: Program, mapping: Mapping, limit: int) -> Program:
    """Return the program as the models would have it; as it is where they promise too little.

    Where it is cut already it stays cut as it is, and is expanded or not.
    """
    return _cached_or_computed(program, mapping, limit).program


def starting_program(program: Program, mapping: Mapping, limit: int) -> StartingProgram:
    """Return the program as the models would have it, with its automatic schedule.

    Raises:
        LimitError: isl would take too long for the schedule.
    """
    result = _cached_or_computed(program, mapping, limit)
    if result.choice is not None:
        return result
    scop = result.program.scop
    choice = choose_schedule_within(
        scop, scop_sizes(scop, dict(result.program.parameters)), mapping
    )
    return replace(result, choice=choice)


def is_better_variant(variant: StorageVariant, first: StorageVariant) -> bool:
    """Whether a storage variant is to be taken before the program as it is."""
    if variant.predicted_gain is None or variant.predicted_gain <= LEAST_VARIANT_GAIN:
        return False
    if variant.storage.copies and is_greater(variant.band_width, first.band_width):
        return True
    return is_greater(variant.score, first.score)


def is_greater(number: float | None, other: float | None) -> bool:
    """Whether both numbers are known, and the first is greater."""
    return number is not None and other is not None and number > other


def _cached_or_computed(program: Program, mapping: Mapping, limit: int) -> StartingProgram:
    """Return what is remembered, else what is found now, and is remembered then."""
    program = apply_splitting_to(program, program.splitting)
    question = storage_cache.variant_cache_key(program, mapping, limit, LEAST_VARIANT_GAIN)
    if (known := storage_cache.read_ranking(question)) is not None:
        try:
            return _from_ranking(program, known, limit)
        except (InputError, LimitError):
            pass  # what is kept was damaged
    try:
        result = storage_variants_within(
            partial(judge_variants, program, mapping, limit), program.scop
        )
    except (PolygymError, MemoryError, RecursionError):
        return StartingProgram(program, (StorageVariant(program.splitting, program.storage),))
    storage_cache.write_ranking(question, result.ranking)
    return result


def _from_ranking(program: Program, ranking: VariantRanking, limit: int) -> StartingProgram:
    """Return the program as a ranking has it that was made before."""
    variant = ranking[_best_variant_index(ranking)]
    if variant.splitting != program.splitting:
        program = apply_splitting_to(program, variant.splitting)
    if not variant.storage.is_source:
        program = with_storage_plan(program, variant.storage, limit)
    return StartingProgram(program, ranking)


def judge_variants(program: Program, mapping: Mapping, limit: int) -> StartingProgram:
    """Return what the models take, without a look at the clock."""
    seen: list[tuple[Program, AutomaticSchedule]] = []
    vectors: list[Floats | None] = []
    scores: list[tuple[float, float]] = []
    waits: list[float] = []
    for candidate in variant_candidates(program, mapping, limit):
        sizes = scop_sizes(candidate.scop, dict(candidate.parameters))
        try:
            choice = choose_schedule(candidate.scop, sizes, mapping)
            legal = legal_with_storage(candidate.storage, candidate.scop, choice.schedule)
            score = static_score(candidate.scop, choice.schedule)
            width = float(band_width(legal))
        except PolygymError:
            if not seen:
                raise
            continue
        if seen and candidate.storage.has_privatization and not has_private_arrays(legal):
            continue  # as expanded
        seen.append((candidate, choice))
        scores.append((score, width))
        vectors.append(features_of(legal, PlanningTarget(sizes, mapping, this_machine())))
        waits.append(_fresh_memory_slowdown(legal, sizes, vectors[-1]))
    ranking = tuple(
        StorageVariant(
            option.splitting,
            option.storage,
            promise if promise is None else promise - wait,
            *score,
        )
        for (option, _), promise, wait, score in zip(
            seen, predicted_gains(vectors), waits, scores, strict=True
        )
    )
    taken, choice = seen[_best_variant_index(ranking)]
    return StartingProgram(taken, ranking, choice)


def _best_variant_index(ranking: VariantRanking) -> int:
    """Return the place of what promises most of what is better than the first, else 0."""
    first, *others = ranking
    better = [place for place, variant in enumerate(others, 1) if is_better_variant(variant, first)]
    return max(better, key=lambda place: _preference(ranking[place]), default=0)


def _preference(variant: StorageVariant) -> float:
    """Return the predicted gain of a variant, and a little more where it needs less memory."""
    return (variant.predicted_gain or 0.0) + (
        MEMORY_PREFERENCE if variant.storage.has_privatization else 0.0
    )


def storage_variants_of(program: Program, mapping: Mapping, limit: int) -> tuple[Program, ...]:
    """Return the program and all other storage variants that models choose among, in order.

    Raises:
        LimitError: isl would take too long.
    """
    return storage_variants_within(partial(_all_variants, program, mapping, limit), program.scop)


def _all_variants(program: Program, mapping: Mapping, limit: int) -> tuple[Program, ...]:
    return tuple(variant_candidates(apply_splitting_to(program, program.splitting), mapping, limit))


def variant_candidates(program: Program, mapping: Mapping, limit: int) -> Iterator[Program]:
    """Yield the program as it is, and expanded, cut or with copies, where that may be a gain."""
    yield program
    try:
        expanded = with_default_storage(program, limit)
    except (InputError, LimitError):
        expanded = program
    if not expanded.storage.is_source:
        yield expanded
        yield from _with_privatization(expanded, limit)
        return
    if program.splitting == NO_SPLITTING and (cut := _split_program(program, mapping)) is not None:
        yield cut
        program = cut
    yield from _with_read_copies(program, limit)


def _with_privatization(expanded: Program, limit: int) -> Iterator[Program]:
    """Yield a program that is expanded with what is expanded private to threads, if that may be."""
    plan = expanded.storage
    entries = tuple(replace(entry, is_privatized=True) for entry in plan.entries)
    with suppress(InputError, LimitError):
        yield with_storage_plan(expanded, replace(plan, entries=entries), limit)


def _with_read_copies(program: Program, limit: int) -> Iterator[Program]:
    """Yield a program that reads what it overwrites from copies, if that may be."""
    with suppress(InputError, LimitError):
        copies = default_read_copies(program.scop)
        if copies:
            yield with_storage_plan(program, plan_of((), copies=copies), limit)


def _fresh_memory_slowdown(legal: LegalSchedule, sizes: Sizes, vector: Floats | None) -> float:
    """Return how much longer, as a power of two, a program takes whose new arrays are fresh."""
    arrays = with_private_arrays_under(legal).arrays
    fresh = sum(
        array_bytes(array, sizes)
        for array in arrays
        if array.storage_class is StorageClass.SCRATCH and array.rank
    )
    if vector is None or fresh <= MAX_REUSED_BYTES:
        return 0.0
    return log2(1.0 + FRESH_MEMORY_COST * fresh / 2.0 ** float(vector[_CYCLES]))


def _split_program(program: Program, mapping: Mapping) -> Program | None:
    """Return the program cut, None where nothing is gained by it, or not soon."""
    scop = program.scop
    try:
        usual = choose_schedule(scop, scop_sizes(scop, dict(program.parameters)), mapping).ranking[
            0
        ]
        splitting = select_splitting_quickly(scop, usual.schedule)
    except PolygymError:
        return None
    return None if splitting == NO_SPLITTING else apply_splitting_to(program, splitting)
