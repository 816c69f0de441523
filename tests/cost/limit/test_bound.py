"""The limit: which of the three bounds it is, from round numbers."""

from __future__ import annotations

import pytest

from polygym.compiler.ir.types import ScalarType
from polygym.compiler.poly.baselines import isl_schedule
from polygym.cost.limit.bound import Bind, limit
from polygym.cost.limit.demand import Demand, demand_of
from polygym.cost.limit.operators import Kind, Operation
from polygym.cost.limit.paths import Step, Wait
from polygym.cost.limit.traffic import Traffic
from polygym.measure.evaluation import EvaluationOptions, Evaluator
from polygym.measure.machine.calibrating import calibrated
from polygym.measure.machine.peaks import best_of
from polygym.programs import load_program
from tests.oracles.peaks import made_up

DOUBLE, FLOAT, INT = ScalarType.DOUBLE, ScalarType.FLOAT, ScalarType.INT


def asked(
    operations: dict[Operation, int] | None = None,
    read: int = 0,
    written: int = 0,
    waits: dict[Wait, int] | None = None,
) -> Demand:
    chains = (tuple(waits.items()),) if waits else ()
    return Demand(tuple((operations or {}).items()), Traffic(read, written), chains)


@pytest.mark.parametrize(
    ("operations", "seconds"),
    [
        ({Operation(Kind.ADD, DOUBLE): 1000}, 1e-6),
        # A multiply-add is one of each, and both together are twice as fast.
        ({Operation(Kind.ADD, DOUBLE): 1000, Operation(Kind.MULTIPLY, DOUBLE): 1000}, 1e-6),
        ({Operation(Kind.ADD, DOUBLE): 1000, Operation(Kind.ANY, DOUBLE): 3000}, 2e-6),
        # Floats are for the units of doubles, integers have others.
        ({Operation(Kind.ADD, DOUBLE): 1000, Operation(Kind.ADD, FLOAT): 1000}, 1.5e-6),
        ({Operation(Kind.ADD, DOUBLE): 1000, Operation(Kind.ANY, INT): 2000}, 1e-6),
        ({Operation(Kind.DIVIDE, DOUBLE): 1000, Operation(Kind.ADD, DOUBLE): 1000}, 1e-5),
        ({Operation(Kind.ROOT, FLOAT): 1000}, 1e-5),
    ],
)
def test_every_unit_takes_its_time(operations: dict[Operation, int], seconds: float) -> None:
    found = limit(asked(operations), made_up())
    assert found.compute == pytest.approx(seconds)
    assert (found.seconds, found.binds) == (found.compute, Bind.COMPUTE)


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
    found = limit(asked(read=read, written=written), made_up())
    assert found.memory == pytest.approx(seconds)
    assert found.binds is Bind.MEMORY


def test_chains_wait_unless_sums_may_be_taken_apart() -> None:
    waits = {Wait(Step.ADD, DOUBLE): 1000, Wait(Step.DIVIDE, DOUBLE): 10}
    found = limit(asked(waits=waits), made_up())
    assert found.chain == pytest.approx(1.05e-6)
    assert found.binds is Bind.CHAIN
    assert limit(asked(waits=waits), made_up(), reassociates=True).seconds == 0
    # A multiply-add may be two operations, if that is faster.
    fused = asked(waits={Wait(Step.MULTIPLY_ADD, FLOAT): 10})
    assert limit(fused, made_up()).chain == pytest.approx(10 * 2e-9)
    assert limit(asked(waits={Wait(Step.MULTIPLY_ADD, DOUBLE): 10}), made_up()).chain == 2e-8


def test_as_json_it_says_where_it_comes_from() -> None:
    found = limit(demand_of(load_program("mvt", parameters={"n": 50})), made_up(2)).to_json()
    assert found["seconds"] == max(
        found["compute_seconds"], found["memory_seconds"], found["chain_seconds"]
    )
    assert found["operations"] == [
        {"kind": kind, "type": "double", "number": 5000}
        for kind in ("additions", "multiplications")
    ]
    assert (found["bytes_read"], found["bytes_written"]) == (8 * (2500 + 200), 8 * 100)
    assert found["chain"][0] == {"step": "addition", "type": "double", "number": 49}
    assert found["threads"] == 2


@pytest.mark.timing
def test_nothing_runs_faster_than_its_limit() -> None:
    """Kernels of every kind, as isl's schedule has them under the default mapping.

    Peaks are the best that was seen. Who shares the cores with another machine may see half of them
    for a while, and is not told; so what passes a limit is told one from peaks of its own moment.
    """
    peaks = calibrated(2)
    for name, size in (
        ("gemm", {"ni": 120, "nj": 140, "nk": 160}),
        ("mvt", {"n": 400}),
        ("durbin", {"n": 400}),
        ("floyd-warshall", {"n": 120}),
        ("tc:matmul", {}),
    ):
        program = load_program(name, parameters=size)
        bound = limit(demand_of(program), peaks)
        assert bound.seconds > 0
        with Evaluator(program, EvaluationOptions(threads=2)) as evaluator:
            best = evaluator.evaluate(isl_schedule(program.scop))
            if min(best.seconds, evaluator.baseline_seconds) < bound.seconds:
                peaks = best_of(peaks, calibrated(2))
                bound = limit(demand_of(program), peaks)
            assert best.seconds >= bound.seconds, (name, best.seconds, bound)
            assert evaluator.baseline_seconds >= bound.seconds, name
