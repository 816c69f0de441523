"""Legality against brute force: for every schedule, legal exactly when no pair is reversed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polybench
from polygym.errors import IllegalScheduleError, InputError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.legality import LegalSchedule, find_violation, is_legal
from polygym.poly.schedule import (
    Schedule,
    ScheduleRow,
    StatementSchedule,
    parameter_names,
    parse_schedule,
)
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.scheduling.strategy import Algorithm, Fusion, IslOptions
from tests.c_programs import SMALL_PROGRAMS, Y_AX, kernel_scop, small_parameters
from tests.oracles.instances import dependences_by_force, time_vector, trace
from tests.oracles.random_schedules import random_legal_schedule

KERNELS = [kernel.name for kernel in polybench.KERNELS]
SCOPS = {name: parse_text(text) for name, text in SMALL_PROGRAMS.items()}


def broken_by_force(scop: Scop, schedule: Schedule, parameters: dict[str, int]) -> bool:
    """Whether some pair of instances is not in the right order, for these parameters."""
    instances = dependences_by_force(trace(scop, original_schedule(scop), parameters))
    return any(
        time_vector(schedule, source, parameters) >= time_vector(schedule, sink, parameters)
        for pairs in instances.values()
        for source, sink in pairs
    )


@st.composite
def small_schedules(draw: st.DrawFn, scop: Scop) -> Schedule:
    dimensions = draw(st.integers(1, 3))
    coefficient = st.integers(-1, 2)
    names = parameter_names(scop)
    return Schedule(
        names,
        tuple(
            StatementSchedule(
                statement.name,
                statement.iterators,
                tuple(
                    ScheduleRow(
                        tuple(draw(coefficient) for _ in range(statement.depth)),
                        tuple(draw(st.sampled_from([0, 0, 0, 1])) for _ in names),
                        draw(coefficient),
                    )
                    for _ in range(dimensions)
                ),
            )
            for statement in scop.statements
        ),
    )


@pytest.mark.parametrize("name", ["y_ax", "downward", "strided", "scalars"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_arbitrary_schedules(name: str, data: st.DataObject) -> None:
    scop = SCOPS[name]
    schedule = data.draw(small_schedules(scop))
    violation = find_violation(scop, schedule)
    broken = any(
        broken_by_force(scop, schedule, dict.fromkeys(parameter_names(scop), size))
        for size in (3, 5, 6)
    )
    if violation is None:
        assert not broken
        return
    # The example is a real pair: it is in the relation, and in the wrong order.
    source = (violation.dependence.source, violation.source_instance)
    sink = (violation.dependence.sink, violation.sink_instance)
    instances = dependences_by_force(trace(scop, original_schedule(scop), violation.parameters))
    assert any((source, sink) in pairs for pairs in instances.values())
    assert time_vector(schedule, source, violation.parameters) >= time_vector(
        schedule, sink, violation.parameters
    )
    assert source[0] in str(violation)
    assert sink[0] in str(violation)


@pytest.mark.parametrize("name", KERNELS)
def test_baselines_are_legal_on_every_kernel(name: str) -> None:
    scop = kernel_scop(name)
    assert is_legal(scop, original_schedule(scop))
    schedule = isl_schedule(scop)
    assert is_legal(scop, schedule)
    assert not broken_by_force(scop, schedule, small_parameters(scop))


@pytest.mark.rotates
@pytest.mark.parametrize("name", ["gemm", "jacobi-1d", "atax"])
@pytest.mark.parametrize(
    "options",
    [
        IslOptions(algorithm=Algorithm.FEAUTRIER),
        IslOptions(Fusion.MAXIMUM),
        IslOptions(Fusion.MINIMUM),
        IslOptions(Fusion.PARALLEL),
        IslOptions(coefficient=-1, constant=-1),
    ],
    ids=str,
)
def test_isl_options_give_legal_schedules(name: str, options: IslOptions) -> None:
    scop = kernel_scop(name)
    assert is_legal(scop, isl_schedule(scop, options))


def test_serializing_components_separates_them() -> None:
    scop = kernel_scop("atax")
    assert isl_schedule(scop, IslOptions(Fusion.MINIMUM)) != isl_schedule(scop)


@pytest.mark.parametrize("name", ["gemm", "lu", "seidel-2d", "durbin", "nussinov"])
def test_reversing_a_kernel_is_illegal(name: str) -> None:
    scop = kernel_scop(name)
    schedule = original_schedule(scop)
    reverse = Schedule(
        schedule.parameters,
        tuple(
            StatementSchedule(
                part.statement,
                part.iterators,
                tuple(
                    ScheduleRow(tuple(-c for c in row.iterators), row.parameters, -row.constant)
                    for row in part.rows
                ),
            )
            for part in schedule.statements
        ),
    )
    assert broken_by_force(scop, reverse, small_parameters(scop))
    with pytest.raises(IllegalScheduleError, match="breaks the"):
        LegalSchedule(scop, reverse)


@pytest.mark.parametrize("name", [*SMALL_PROGRAMS])
def test_random_schedules_legal_by_construction_are_accepted(name: str) -> None:
    scop = SCOPS[name]
    for seed in range(10):
        schedule = random_legal_schedule(scop, np.random.default_rng(seed))
        assert is_legal(scop, schedule)
        assert not broken_by_force(scop, schedule, small_parameters(scop))


def test_isl_refuses_what_it_cannot_schedule() -> None:
    loops = "".join(f"for (int i{k} = 0; i{k} < n; i{k}++) " for k in range(11))
    deep = parse_text(
        f"void f(int n, int A[n]) {{\n#pragma scop\n{loops}A[i0] += 1;\n#pragma endscop\n}}\n"
    )
    with pytest.raises(InputError, match="at most 9 loops"):
        isl_schedule(deep)


def test_ties_between_dependent_instances_are_illegal() -> None:
    scop = parse_text(Y_AX)
    violation = find_violation(scop, parse_schedule("{ S[i] -> [i]; T[i, j] -> [i] }", scop))
    assert violation is not None
    assert violation.dimension is None
    assert "the same time" in str(violation)
