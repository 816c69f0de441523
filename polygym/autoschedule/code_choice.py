"""The automatic choice confirmed: the source is kept unless other code seems to be faster.

Models of cost rank schedules and storage variants by their planned loops
(:mod:`polygym.autoschedule.schedule_choice`, :mod:`polygym.autoschedule.storage_choice`). They do
not know LLVM's code of the source: of a blur of three by three it unrolls the two inner loops and
vectorizes the third, which is faster than any loop over an array of sums. So LLVM's code of both is
estimated (:mod:`polygym.cost.machine_code`), with the memory traffic and the parallel share of the
planned loops. With the larger and the smaller of the cycles of code and of memory::

    larger + SMALLER_SHARE · smaller + parallel loops started · FORK_CYCLES

Arrays of the program's own beyond :data:`MAX_REUSED_BYTES` come fresh from the operating system in
each run, which is part of computing: three expanded images of 34 MB cost 30 million cycles.

The choice of the models stands if the source's estimate is :data:`LEAST_GAIN` times its own. Else
the best of these is taken for which that holds: the choice in one thread, the models' schedule of
the source's storage, the same in one thread, the source's loops in threads
(:mod:`polygym.autoschedule.threaded_source`), the same with two loops interchanged
(:mod:`polygym.autoschedule.interchanged_source`). Else the source: its order, its storage, no
mapping. The source's loops in threads have to seem :data:`THREADS_GAIN` times as fast. They also
replace a choice that stands if that takes new memory, gains less than the number of threads and
seems slower. So do the source's passes in overlapped tiles
(:mod:`polygym.autoschedule.overlapped_source`), which replace any such choice that seems
:data:`LEAST_GAIN` times as slow.

No code computes more than its program, so an estimate with more floating operations is scaled down:
the middle iteration of a loop over tiles is a full tile, where others are cut off.

Example, gemm at MEDIUM in one thread: 2.4 million cycles of the source against 1.35 for tiles; 1.75
is enough. Measured it is 2.1. The byte blur: 0.3, measured 0.08; the source stays.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from polygym.autoschedule.interchanged_source import interchanged_sources
from polygym.autoschedule.overlapped_source import overlapped_sources
from polygym.autoschedule.schedule_choice import (
    AutomaticSchedule,
    RankedSchedule,
    choose_schedule,
)
from polygym.autoschedule.storage_choice import StartingProgram, starting_program
from polygym.autoschedule.threaded_source import private_source, source_in_threads
from polygym.codegen.analysis.private_memory import pooled_arrays, private_array_bytes
from polygym.codegen.common.loop_annotation import ParallelLoop
from polygym.codegen.contraction import legal_with_storage
from polygym.codegen.llvm.core.memory_allocation import MAX_REUSED_BYTES
from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.llvm.jit import optimization_level, optimize
from polygym.codegen.loopir.ir import LoopProgram
from polygym.codegen.pipeline import lower
from polygym.codegen.tree.ir import Band, subtrees
from polygym.cost.features.candidates.candidate_vector import (
    FEATURE_NAMES,
    CandidateFeatures,
    candidate_features,
)
from polygym.cost.features.candidates.nest_vectors import NEST_COLUMNS
from polygym.cost.machine_code.estimate import CodeEstimate, estimate_code
from polygym.cost.machine_code.private_traffic import private_traffic
from polygym.errors import PolygymError
from polygym.ir.scop import Scop, StorageClass
from polygym.mapping.machine import this_machine
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.mapping.sizes import Sizes, element_count, scop_sizes
from polygym.pickling import pickle_by_name
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.strategy import ORIGINAL
from polygym.programs import Program
from polygym.programs.stored_program import apply_splitting_to
from polygym.runtime.evaluation.forked_timeout import run_forked
from polygym.runtime.evaluation.time_limits import allowed_seconds

LEAST_GAIN = 1.2
"""How many times the candidate's estimate the source's has to be: estimates err."""

THREADS_GAIN = 1.35
"""The same for the source's loops in threads: waiting for each other is not estimated."""

SMALLER_SHARE = 0.3
"""How much of the shorter of computing and memory traffic is not hidden behind the longer."""

FORK_CYCLES = 4_000.0
"""Cycles to start a parallel loop and to wait for its end, where threads are awake: 1.4 µs."""

SHARED_BANDWIDTH = 1.4
"""The traffic of two threads beside that of one, if each walks rows of its own as the source does.

Measured in two threads: a masked update 1.6, a stencil with obstacles 1.5, d2q9 1.35.
"""

MANY_FORKS = 64.0
MOVED_TRAFFIC = 3.0
"""If parallel loops are started so often, data move between cores: traffic takes so many times."""

FAR_WALK = 4.0
"""The traffic of loops whose iterations are far apart in memory: nothing is fetched ahead.

Measured: an implicit relaxation along columns of 8 kB, 28 ms and 10 ms along rows.
"""

FRESH_CYCLES = 0.3
"""Cycles for a byte of memory that the operating system gives anew in each run, all zeros."""

# Bytes in a cycle from the cache that cores share, and from memory.
_SHARED_BYTES, _MEMORY_BYTES = 96.0, 48.0
_SECONDS = 60.0
_COLUMNS = ("total_cycles", "total_operations", "total_traffic_19", "total_traffic_24")
_CYCLES, _OPERATIONS, _SHARED, _MEMORY = map(FEATURE_NAMES.index, _COLUMNS)
_STARTS, _UNIT_STRIDES = map(NEST_COLUMNS.index, ("starts", "unit_strides"))


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ConfirmedStart:
    """A program with its automatic schedule and mapping, and the estimates.

    ``estimates`` has the cycles by candidate, the source's first; it is empty where they are out of
    reach, and then the models' choice stands.
    """

    start: StartingProgram
    mapping: Mapping
    estimates: tuple[tuple[str, float], ...] = ()
    is_source: bool = False

    @property
    def choice(self) -> AutomaticSchedule:
        """The choice of the schedule."""
        assert self.start.choice is not None
        return self.start.choice

    def to_json(self) -> dict[str, Any]:
        """Return the estimates, and whether the source is kept."""
        return {
            "is_source": self.is_source,
            "mapping": str(self.mapping),
            "least_gain": LEAST_GAIN,
            "cycles": [[name, round(cycles)] for name, cycles in self.estimates],
        }


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A program under a mapping, with the choice of its schedule."""

    program: Program
    choice: AutomaticSchedule
    mapping: Mapping

    def __str__(self) -> str:
        return f"{self.program.storage}, {self.choice.strategy}, {self.mapping}"


@dataclass(frozen=True, slots=True)
class _Estimate:
    """A candidate, and the cycles that it is estimated to take."""

    candidate: _Candidate
    cycles: float

    @property
    def mapping(self) -> Mapping:
        return self.candidate.mapping

    @property
    def is_overlapped(self) -> bool:
        """Whether the source's passes run in tiles."""
        return self.candidate.program.storage.overlapped_tile > 0


def confirmed_start(
    program: Program, mapping: Mapping, limit: int, *, keeps_mapping: bool = False
) -> ConfirmedStart:
    """Return the program as models would have it, or as it is where that seems to be as fast.

    With ``keeps_mapping`` the mapping was asked for: only the storage may be the source's then.

    Raises:
        LimitError: isl would take too long for the schedule.
    """
    start = starting_program(program, mapping, limit)
    work = partial(_confirmed, program, start, mapping, limit, keeps_mapping)
    try:
        return run_forked(
            "estimates of code", work, allowed_seconds(_SECONDS), "the choice of models stands"
        )
    except (PolygymError, MemoryError, RecursionError, OSError):
        return ConfirmedStart(start, mapping)


def _confirmed(
    program: Program, start: StartingProgram, mapping: Mapping, limit: int, keeps_mapping: bool
) -> ConfirmedStart:
    """Return the choice without a look at the clock."""
    assert start.choice is not None
    written = apply_splitting_to(program, program.splitting)
    changed = _Candidate(start.program, start.choice, mapping)
    source = _Candidate(written, _in_order(written, start.choice), SEQUENTIAL_MAPPING)
    known = [*_estimated(source), *_estimated(changed)]
    stands = known[1].cycles <= known[0].cycles / LEAST_GAIN
    if not stands and start.program.scop != written.scop:
        sizes = scop_sizes(written.scop, dict(written.parameters))
        usual = choose_schedule(written.scop, sizes, mapping)
        known += _estimated(_Candidate(written, usual, mapping))
    is_kept = stands and not _has_new_memory(start.program)
    if not keeps_mapping and known[1].cycles * mapping.threads > known[0].cycles:
        threaded = _other_sources(written, start.choice, mapping, limit, is_kept=is_kept)
        if any(each.is_overlapped for each in threaded):
            # Else the source's temporaries come from the operating system in each call.
            known = [replace(each, cycles=each.cycles + _fresh_cycles(written)) for each in known]
        known += [each for each in threaded if each.cycles <= known[0].cycles / THREADS_GAIN]
        is_kept &= all(each.cycles > known[1].cycles / LEAST_GAIN for each in known[2:])
    allowed = [each for each in known[1:] if each.mapping == mapping or not keeps_mapping]
    best = known[1] if is_kept else min(allowed, key=lambda each: each.cycles)
    if best.cycles > known[0].cycles / LEAST_GAIN and not keeps_mapping:
        best = known[0]
    taken = replace(start, program=best.candidate.program, choice=best.candidate.choice)
    estimates = tuple((str(each.candidate), each.cycles) for each in known)
    return ConfirmedStart(taken, best.mapping, estimates, best is known[0])


def _has_new_memory(program: Program) -> bool:
    """Whether a program has arrays that its source does not have, other than private ones."""
    return any(not entry.is_privatized for entry in program.storage.entries)


def _other_sources(
    written: Program, choice: AutomaticSchedule, mapping: Mapping, limit: int, *, is_kept: bool
) -> list[_Estimate]:
    """Return the estimates of the source's loops in threads or interchanged, of passes in tiles.

    Where the choice of the models is kept otherwise, only of tiles.
    """
    candidates: list[_Candidate] = []
    with suppress(PolygymError):  # out of reach; the others are estimated already
        private = None if is_kept else private_source(written, limit)
        if mapping.is_parallel:
            threaded = None if private is None else source_in_threads(private, mapping.threads)
            programs = [] if private is None or threaded is None else [(private, threaded)]
            programs += overlapped_sources(written, mapping, limit)
            candidates += [_Candidate(own, _in_order(own, choice), to) for own, to in programs]
        if private is not None:
            candidates += [
                _Candidate(private, _in_order(private, choice, order), to)
                for order, to in interchanged_sources(private, mapping)
            ]
    result: list[_Estimate] = []
    for candidate in candidates:
        with suppress(PolygymError):
            result.append(_estimated(candidate, SHARED_BANDWIDTH)[0])
    return result


def _in_order(
    program: Program, choice: AutomaticSchedule, order: Schedule | None = None
) -> AutomaticSchedule:
    """Return the choice of the order of the text, or of another, with another choice's ranking."""
    schedule = original_schedule(program.scop) if order is None else order
    entry = RankedSchedule(ORIGINAL, schedule, None)
    return AutomaticSchedule((*choice.ranking, entry), len(choice.ranking))


def _estimated(candidate: _Candidate, bandwidth: float = 1.0) -> list[_Estimate]:
    """Return the estimate of a candidate, then that of the same in one thread if it has more.

    All threads together move ``bandwidth`` times as many bytes in a cycle as one.

    Raises:
        PolygymError: they are out of reach.
    """
    program = candidate.program
    legal = legal_with_storage(program.storage, program.scop, candidate.choice.schedule)
    alone = replace(candidate, mapping=replace(candidate.mapping, threads=1))
    planned = _features(legal, alone)
    loops = lower(legal, alone.mapping, dict(program.parameters))
    threads = candidate.mapping.threads
    code = _code(loops, alone, threads, float(2.0 ** planned.vector[_OPERATIONS]))
    memory = _memory_cycles(planned, code, loops, threads)
    result = [_Estimate(alone, _overlapped(code.cycles, memory))]
    if candidate.mapping.is_parallel:
        parallel = _features(legal, candidate)
        share = float(2.0 ** (parallel.vector[_CYCLES] - planned.vector[_CYCLES]))
        share = min(1.0, max(1.0 / threads, share))
        forks = _forks(parallel)
        if any(loop.reductions for loop in _parallel_loops(parallel)):
            bandwidth = max(bandwidth, SHARED_BANDWIDTH)  # each walks a part of the rows
        moved = MOVED_TRAFFIC if forks > MANY_FORKS else 1.0 / bandwidth
        cycles = _overlapped(code.cycles * share, memory * moved)
        result.insert(0, _Estimate(candidate, cycles + forks * FORK_CYCLES))
    return result


def _overlapped(code: float, memory: float) -> float:
    """Return the cycles of computing and of memory traffic, most of the shorter hidden."""
    return max(code, memory) + SMALLER_SHARE * min(code, memory)


def _features(legal: LegalSchedule, candidate: _Candidate) -> CandidateFeatures:
    program = candidate.program
    sizes = scop_sizes(program.scop, dict(program.parameters))
    return candidate_features(legal, candidate.mapping, sizes)


def _memory_cycles(
    features: CandidateFeatures, code: CodeEstimate, loops: LoopProgram, threads: int
) -> float:
    """Return the cycles of traffic beyond a core's own caches.

    The planned loops decide how much that is, at most the bytes that the code touches: values that
    LLVM keeps in a register come from nowhere. Large private arrays add theirs.
    """
    instances = {nest.work.name: nest.work.instances for nest in features.nests}
    private = private_traffic(loops, instances, threads)
    shared, memory = (
        min(float(2.0 ** features.vector[column]) + own, code.bytes)
        for column, own in ((_SHARED, private.shared), (_MEMORY, private.memory))
    )
    walk = 1.0 + (FAR_WALK - 1.0) * _far_share(features)
    return walk * (shared / _SHARED_BYTES + memory / _MEMORY_BYTES)


def _far_share(features: CandidateFeatures) -> float:
    """Return the share of accesses that move by more than one in their innermost loop."""
    weights = [max(1.0, nest.work.instances) for nest in features.nests]
    near = features.nest_columns[:, _UNIT_STRIDES]
    total = sum(weight * share for weight, share in zip(weights, near, strict=True))
    return 1.0 - float(total) / sum(weights)


def _code(
    loops: LoopProgram, candidate: _Candidate, threads: int, operations: float
) -> CodeEstimate:
    """Return the estimate of a candidate's code; the program has so many operations."""
    text = optimize(emit_llvm(loops), optimization_level(loops.mapping))
    code = estimate_code(text, this_machine())
    scaled = CodeEstimate().plus(code, min(1.0, operations / max(1.0, code.operations)))
    sizes = scop_sizes(loops.scop, dict(candidate.program.parameters))
    slots = sum(private_array_bytes(loops, name) for name in pooled_arrays(loops))
    fresh = fresh_bytes(loops.scop, sizes, slots * threads)
    return replace(scaled, cycles=scaled.cycles + fresh * FRESH_CYCLES)


def _fresh_cycles(program: Program) -> float:
    """Return the cycles until a program has the local memory of its source, page by page.

    The C library keeps twice as much as the largest piece that is given back.
    """
    sizes = scop_sizes(program.scop, dict(program.parameters))
    local = [
        element_count(array, sizes) * array.type.size
        for array in program.scop.arrays
        if array.storage_class is StorageClass.LOCAL and not array.is_observable
    ]
    return FRESH_CYCLES * sum(local) if sum(local) > 2 * max(local, default=0) else 0.0


def fresh_bytes(scop: Scop, sizes: Sizes, slots: int = 0) -> int:
    """Return how many bytes of a program's own arrays are asked of the operating system.

    The C library keeps up to :data:`MAX_REUSED_BYTES` for the next run. ``slots`` are the bytes of
    private arrays of all threads.
    """
    many = slots + sum(
        element_count(array, sizes) * array.type.size
        for array in scop.arrays
        if array.storage_class is StorageClass.SCRATCH
    )
    return many if many > MAX_REUSED_BYTES else 0


def _parallel_loops(features: CandidateFeatures) -> Iterator[ParallelLoop]:
    """Yield the planned loops that run in threads."""
    for band in subtrees(features.tree):
        for member in band.members if isinstance(band, Band) else ():
            if isinstance(member.annotation, ParallelLoop):
                yield member.annotation


def _forks(features: CandidateFeatures) -> float:
    """Return how often parallel loops are started: a loop counts once for all its statements."""
    starts = {
        nest.work.name: float(2.0 ** known[_STARTS]) - 1.0
        for nest, known in zip(features.nests, features.nest_columns, strict=True)
    }
    return sum(
        max((starts[name] for name in band.statements if name in starts), default=0.0)
        for band in subtrees(features.tree)
        if isinstance(band, Band)
        and any(isinstance(member.annotation, ParallelLoop) for member in band.members)
    )
