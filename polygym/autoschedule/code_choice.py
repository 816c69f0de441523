"""The automatic choice confirmed: the source is kept where its code seems to be as fast.

Models of cost rank schedules and storage variants by their planned loops
(:mod:`polygym.autoschedule.schedule_choice`, :mod:`polygym.autoschedule.storage_choice`). They do
not know what LLVM makes of the source: of a blur of three by three it unrolls the two inner loops
and makes vectors of the third, which is faster than any loop over an array of sums. So the code of
the source, and of a few candidates, is compiled and its cycles are estimated
(:mod:`polygym.cost.machine_code`). The time of a candidate is taken as::

    cycles of its code · share of a thread  +  bytes from memory / 8  +  forks · FORK_CYCLES

The share of a thread is that of the planned loops. Where a parallel loop is started more than
:data:`MANY_FORKS` times its square root counts: threads that wait for each other gain less. The
candidates are what the models took and the order of the text, with the storage that they took and
with that of the source, in all threads and in one. The first is taken where it is below
:data:`CERTAIN_SHARE` of the source's time, else the fastest, where that is below
:data:`LEAST_SHARE`; else the source: its order, its storage, no mapping.

On the 37 programs of ``benchmarks/unseen_programs``, AMD EPYC with AVX2, one thread: 1.84 times the
source in geometric mean, 1.51 before; a candidate below 0.95 of the source was taken in none,
before in 11.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from typing import Any

from polygym.autoschedule.schedule_choice import (
    AutomaticSchedule,
    RankedSchedule,
    choose_schedule,
)
from polygym.autoschedule.storage_choice import StartingProgram, starting_program
from polygym.codegen.common.loop_annotation import ParallelLoop
from polygym.codegen.contraction import legal_with_storage
from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.llvm.jit import optimization_level, optimize
from polygym.codegen.pipeline import lower
from polygym.codegen.tree.ir import loop_paths
from polygym.cost.features.candidates.candidate_vector import (
    FEATURE_NAMES,
    CandidateFeatures,
    candidate_features,
)
from polygym.cost.features.candidates.nest_vectors import NEST_COLUMNS
from polygym.cost.machine_code.estimate import estimate_cycles
from polygym.errors import PolygymError
from polygym.mapping.machine import this_machine
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.mapping.sizes import scop_sizes
from polygym.pickling import pickle_by_name
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.strategy import ORIGINAL
from polygym.programs import Program
from polygym.programs.stored_program import apply_splitting_to
from polygym.runtime.evaluation.forked_timeout import run_forked
from polygym.runtime.evaluation.time_limits import allowed_seconds

LEAST_SHARE = 0.7
"""Below this share of the source's estimated time a candidate is taken: estimates err."""

CERTAIN_SHARE = 0.4
"""Below this share what the models took is taken without a look at others."""

FORK_CYCLES = 15_000.0
"""What it takes to start a parallel loop and to wait for its end: 5 µs at 3 GHz."""

MANY_FORKS = 16.0
"""So many starts of parallel loops are no loss."""

_BYTES_PER_CYCLE = 8.0
_SECONDS = 30.0
_CYCLES = FEATURE_NAMES.index("total_cycles")
_MEMORY = FEATURE_NAMES.index("total_traffic_24")
_STARTS = NEST_COLUMNS.index("starts")


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ConfirmedStart:
    """A program with its automatic schedule and mapping, and what was estimated.

    ``estimates`` has the cycles by candidate, the source's first; it is empty where they are out of
    reach, and then the models' choice stands.
    """

    start: StartingProgram
    mapping: Mapping
    estimates: tuple[tuple[str, float], ...] = ()
    is_source: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return what was estimated."""
        return {
            "is_source": self.is_source,
            "mapping": str(self.mapping),
            "least_share": LEAST_SHARE,
            "cycles": [[name, round(cycles)] for name, cycles in self.estimates],
        }


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A program under a mapping, with the choice of its schedule."""

    program: Program
    choice: AutomaticSchedule
    mapping: Mapping

    @property
    def name(self) -> str:
        """A name for people and documents."""
        return f"{self.program.storage}, {self.choice.strategy}, {self.mapping}"


def confirmed_start(
    program: Program, mapping: Mapping, limit: int, *, keeps_mapping: bool = False
) -> ConfirmedStart:
    """Return the program as models would have it where its code seems to be faster, else as it is.

    With ``keeps_mapping`` the mapping was asked for, so the source without one is no candidate.

    Raises:
        LimitError: isl would take too long for the schedule.
    """
    start = starting_program(program, mapping, limit)
    work = partial(_confirmed, program, start, mapping, keeps_mapping)
    try:
        return run_forked(
            "estimates of code", work, allowed_seconds(_SECONDS), "the choice of models stands"
        )
    except (PolygymError, MemoryError, RecursionError, OSError):
        return ConfirmedStart(start, mapping)


def _confirmed(
    program: Program, start: StartingProgram, mapping: Mapping, keeps_mapping: bool
) -> ConfirmedStart:
    """Return the choice without a look at the clock."""
    written = apply_splitting_to(program, program.splitting)
    sizes = scop_sizes(written.scop, dict(written.parameters))
    usual = choose_schedule(written.scop, sizes, mapping)
    source = _Candidate(written, _in_order(written, usual), SEQUENTIAL_MAPPING)
    source_cycles = _estimated(source)
    estimates = [(source.name, source_cycles)]
    best, least = source, source_cycles
    for candidate in _candidates(start, written, usual, mapping):
        for mapped, cycles in _estimated_in_threads(candidate, keeps_mapping):
            estimates.append((mapped.name, cycles))
            if cycles < least or (keeps_mapping and best is source):
                best, least = mapped, cycles
        if least < CERTAIN_SHARE * source_cycles:
            break
    if not keeps_mapping and least > LEAST_SHARE * source_cycles:
        best = source
    chosen = replace(start, program=best.program, choice=best.choice)
    return ConfirmedStart(chosen, best.mapping, tuple(estimates), best is source)


def _candidates(
    start: StartingProgram, written: Program, usual: AutomaticSchedule, mapping: Mapping
) -> Iterator[_Candidate]:
    """Yield what models took and the order of the text, of the program as changed and as written.

    ``usual`` is the choice of schedules of the program as it was written.
    """
    assert start.choice is not None
    choices = [(start.program, start.choice)]
    if start.program.scop != written.scop:
        choices.append((written, usual))
    for program, choice in choices:
        yield _Candidate(program, choice, mapping)
        in_order = _in_order(program, choice)
        if in_order.schedule != choice.schedule:
            yield _Candidate(program, in_order, mapping)


def _in_order(program: Program, choice: AutomaticSchedule) -> AutomaticSchedule:
    """Return a choice that takes the order of the text instead."""
    schedule = original_schedule(program.scop)
    known = [entry.schedule for entry in choice.ranking]
    if schedule in known:
        return replace(choice, chosen=known.index(schedule))
    entry = RankedSchedule(ORIGINAL, schedule, None)
    return AutomaticSchedule((*choice.ranking, entry), len(known))


def _estimated_in_threads(
    candidate: _Candidate, keeps_mapping: bool
) -> Iterator[tuple[_Candidate, float]]:
    """Yield a candidate with its cycles, and in one thread as well; nothing out of reach."""
    one = replace(candidate, mapping=replace(candidate.mapping, threads=1))
    try:
        features = _features(one)
        code = _code_cycles(one)
        memory = _memory_cycles(features)
        if candidate.mapping.is_parallel:
            parallel = _features(candidate)
            share = float(2.0 ** (parallel.vector[_CYCLES] - features.vector[_CYCLES]))
            share = min(1.0, max(1.0 / candidate.mapping.threads, share))
            forks = _forks(parallel)
            if forks > MANY_FORKS:
                share = sqrt(share)
            yield candidate, code * share + memory + forks * FORK_CYCLES
        if one.mapping == candidate.mapping or not keeps_mapping:
            yield one, code + memory
    except PolygymError:
        return


def _estimated(candidate: _Candidate) -> float:
    """Return the cycles of a candidate in one thread.

    Raises:
        PolygymError: it is out of reach.
    """
    return _code_cycles(candidate) + _memory_cycles(_features(candidate))


def _features(candidate: _Candidate) -> CandidateFeatures:
    program = candidate.program
    sizes = scop_sizes(program.scop, dict(program.parameters))
    legal = legal_with_storage(program.storage, program.scop, candidate.choice.schedule)
    return candidate_features(legal, candidate.mapping, sizes)


def _memory_cycles(features: CandidateFeatures) -> float:
    """Return the cycles in which what no cache has comes from memory."""
    return float(2.0 ** features.vector[_MEMORY]) / _BYTES_PER_CYCLE


def _code_cycles(candidate: _Candidate) -> float:
    """Return the estimated cycles of the code of a candidate."""
    program, mapping = candidate.program, candidate.mapping
    legal = legal_with_storage(program.storage, program.scop, candidate.choice.schedule)
    loops = lower(legal, mapping, dict(program.parameters))
    text = optimize(emit_llvm(loops), optimization_level(loops.mapping))
    return estimate_cycles(text, this_machine().vector_bits)


def _forks(features: CandidateFeatures) -> float:
    """Return how often parallel loops are started, those that statements share once."""
    starts = {
        nest.work.name: float(2.0 ** known[_STARTS]) - 1.0
        for nest, known in zip(features.nests, features.nest_columns, strict=True)
    }
    loops: dict[int, float] = {}
    for name, members in loop_paths(features.tree, tuple(starts)):
        for member in members:
            if isinstance(member.annotation, ParallelLoop):
                loops[id(member)] = max(loops.get(id(member), 0.0), starts[name])
    return sum(loops.values())
