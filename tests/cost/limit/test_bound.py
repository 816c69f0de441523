"""The limit: which of the three bounds it is, from round numbers."""

from __future__ import annotations

import pytest

from polygym.cost.limit.bound import Bottleneck, compute_limit
from polygym.cost.limit.demand import Demand, MemoryTraffic, program_demand
from polygym.cost.limit.operation_kinds import (
    ArithmeticKind,
    LatencyStep,
    LatencyTerm,
    TypedOperation,
)
from polygym.ir.types import ScalarType
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation import EvaluationOptions, Evaluator
from polygym.runtime.peaks.calibration import measure_peaks
from polygym.runtime.peaks.machine_peaks import combine_peaks
from tests.oracles.peaks import made_up

DOUBLE, FLOAT, INT = ScalarType.DOUBLE, ScalarType.FLOAT, ScalarType.INT


def asked(
    operations: dict[TypedOperation, int] | None = None,
    read: int = 0,
    written: int = 0,
    waits: dict[LatencyTerm, int] | None = None,
) -> Demand:
    chains = (tuple(waits.items()),) if waits else ()
    return Demand(tuple((operations or {}).items()), MemoryTraffic(read, written), chains)


@pytest.mark.parametrize(
    ("operations", "seconds"),
    [
        ({TypedOperation(ArithmeticKind.ADD, DOUBLE): 1000}, 1e-6),
        # A multiply-add is one of each, and both together are twice as fast.
        (
            {
                TypedOperation(ArithmeticKind.ADD, DOUBLE): 1000,
                TypedOperation(ArithmeticKind.MULTIPLY, DOUBLE): 1000,
            },
            1e-6,
        ),
        (
            {
                TypedOperation(ArithmeticKind.ADD, DOUBLE): 1000,
                TypedOperation(ArithmeticKind.ANY, DOUBLE): 3000,
            },
            2e-6,
        ),
        # Floats are for the units of doubles, integers have others.
        (
            {
                TypedOperation(ArithmeticKind.ADD, DOUBLE): 1000,
                TypedOperation(ArithmeticKind.ADD, FLOAT): 1000,
            },
            1.5e-6,
        ),
        (
            {
                TypedOperation(ArithmeticKind.ADD, DOUBLE): 1000,
                TypedOperation(ArithmeticKind.ANY, INT): 2000,
            },
            1e-6,
        ),
        (
            {
                TypedOperation(ArithmeticKind.DIVIDE, DOUBLE): 1000,
                TypedOperation(ArithmeticKind.ADD, DOUBLE): 1000,
            },
            1e-5,
        ),
        ({TypedOperation(ArithmeticKind.ROOT, FLOAT): 1000}, 1e-5),
    ],
)
def test_every_unit_takes_its_time(operations: dict[TypedOperation, int], seconds: float) -> None:
    limit = compute_limit(asked(operations), made_up())
    assert limit.compute == pytest.approx(seconds)
    assert (limit.seconds, limit.bottleneck) == (limit.compute, Bottleneck.COMPUTE)


@pytest.mark.parametrize(
    ("read", "written", "seconds"),
    [
        (1000, 0, 1e-8),  # all of it may be in the first cache
        (2000, 0, 1e-7),  # half of it may
        (2000, 2000, 2e-7),
        (111_000, 0, 1e-4),  # 11,000 bytes may be in caches
        (5000, 12_000, 1.5e-6),  # what is read may be in caches, of what is written the rest
    ],
)
def test_what_fits_into_caches_need_not_come_from_memory(
    read: int, written: int, seconds: float
) -> None:
    limit = compute_limit(asked(read=read, written=written), made_up())
    assert limit.memory == pytest.approx(seconds)
    assert limit.bottleneck is Bottleneck.MEMORY


def test_chains_wait_unless_sums_may_be_taken_apart() -> None:
    waits = {
        LatencyTerm(LatencyStep.ADD, DOUBLE): 1000,
        LatencyTerm(LatencyStep.DIVIDE, DOUBLE): 10,
    }
    limit = compute_limit(asked(waits=waits), made_up())
    assert limit.chain == pytest.approx(1.05e-6)
    assert limit.bottleneck is Bottleneck.CHAIN
    assert compute_limit(asked(waits=waits), made_up(), reassociates=True).seconds == 0
    # A multiply-add may be two operations, if that is faster.
    fused = asked(waits={LatencyTerm(LatencyStep.MULTIPLY_ADD, FLOAT): 10})
    assert compute_limit(fused, made_up()).chain == pytest.approx(10 * 2e-9)
    assert (
        compute_limit(
            asked(waits={LatencyTerm(LatencyStep.MULTIPLY_ADD, DOUBLE): 10}), made_up()
        ).chain
        == 2e-8
    )


def test_as_json_it_says_where_it_comes_from() -> None:
    limit = compute_limit(
        program_demand(load_program("mvt", parameters={"n": 50})), made_up(2)
    ).to_json()
    assert limit["seconds"] == max(
        limit["compute_seconds"], limit["memory_seconds"], limit["chain_seconds"]
    )
    assert limit["operations"] == [
        {"kind": kind, "type": "double", "number": 5000}
        for kind in ("additions", "multiplications")
    ]
    assert (limit["bytes_read"], limit["bytes_written"]) == (8 * (2500 + 200), 8 * 100)
    assert limit["chain"][0] == {"step": "addition", "type": "double", "number": 49}
    assert limit["threads"] == 2


@pytest.mark.timing
def test_nothing_runs_faster_than_its_limit() -> None:
    """Kernels of every kind, as isl's schedule has them under the default mapping.

    Peaks are the best that was seen. Who shares the cores with another machine may see half of them
    for a while, and is not told; so what passes a limit is told one from peaks of its own moment.
    """
    peaks = measure_peaks(2)
    for name, size in (
        ("gemm", {"ni": 120, "nj": 140, "nk": 160}),
        ("mvt", {"n": 400}),
        ("durbin", {"n": 400}),
        ("floyd-warshall", {"n": 120}),
        ("tc:matmul", {}),
    ):
        program = load_program(name, parameters=size)
        bound = compute_limit(program_demand(program), peaks)
        assert bound.seconds > 0
        with Evaluator(program, EvaluationOptions(threads=2)) as evaluator:
            best = evaluator.evaluate(isl_schedule(program.scop))
            if min(best.seconds, evaluator.baseline_seconds) < bound.seconds:
                peaks = combine_peaks(peaks, measure_peaks(2))
                bound = compute_limit(program_demand(program), peaks)
            assert best.seconds >= bound.seconds, (name, best.seconds, bound)
            assert evaluator.baseline_seconds >= bound.seconds, name
