"""What a program has to do: never more than going over all of its instances says."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polybench
from polygym.cost.limit import dependence_chains
from polygym.cost.limit.demand import Demand, scop_demand
from polygym.cost.limit.operation_kinds import (
    ArithmeticKind,
    LatencyStep,
    LatencyTerm,
    TypedOperation,
    latency_path,
)
from polygym.cost.limit.value_flows import find_value_flows
from polygym.frontend.c import parse_text
from polygym.frontend.tc import lower_definition, parse_definitions
from polygym.ir.scop import Scop
from polygym.ir.types import ScalarType
from polygym.programs.generate import generate_source
from tests.c_programs import SMALL_PROGRAMS, kernel_scop
from tests.oracles.symbolic_runs import (
    Run,
    bytes_by_force,
    different_by_force,
    longest_chain,
    operations_by_force,
    run,
)

COSTS = {
    LatencyStep.ADD: 1.0,
    LatencyStep.MULTIPLY: 1.25,
    LatencyStep.ANY: 1.0,
    LatencyStep.MULTIPLY_ADD: 1.5,
    LatencyStep.DIVIDE: 5.0,
    LatencyStep.ROOT: 7.0,
}


def cost(wait: LatencyTerm) -> float:
    return COSTS[wait.step]


def outputs_of(scop: Scop) -> list[str]:
    written = {statement.write.array for statement in scop.statements}
    return [array.name for array in scop.arrays if array.live_out and array.name in written]


def asked(scop: Scop, size: int) -> dict[str, int]:
    """Return sizes that differ a little, so that none stands for another."""
    return {parameter.name: size + place % 3 for place, parameter in enumerate(scop.parameters)}


def chain_of(demand: Demand) -> float:
    return max((sum(cost(wait) * n for wait, n in chain) for chain in demand.chains), default=0.0)


def check(scop: Scop, sizes: Mapping[str, int]) -> tuple[Demand, Run]:
    """Compare all three counts with what going over the instances says; return both."""
    outputs = outputs_of(scop)
    demand, program = scop_demand(scop, outputs, sizes), run(scop, outputs, sizes)
    counted = operations_by_force(program)
    for operation, number in demand.operations:
        assert number <= counted.get(operation, 0), (operation, number, counted)
    for kind in ArithmeticKind:
        assert demand.count(kind) <= different_by_force(program, kind)
    assert chain_of(demand) <= longest_chain(program, cost) + 1e-9
    assert demand.traffic.read <= bytes_by_force(program, outputs)[0]
    assert demand.traffic.written <= bytes_by_force(program, outputs)[1]
    return demand, program


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 5))
def test_of_random_programs_nothing_is_counted_twice(seed: int, size: int) -> None:
    scop = parse_text(generate_source(seed))
    check(scop, asked(scop, size))


@pytest.mark.parametrize("name", sorted(SMALL_PROGRAMS))
def test_of_small_programs_nothing_is_counted_twice(name: str) -> None:
    scop = parse_text(SMALL_PROGRAMS[name])
    check(scop, asked(scop, 5))


# Where all is certain the counts are exact; these have chains of every kind, too.
EXACT = ("gemm", "atax", "trisolv", "cholesky", "jacobi-1d", "lu", "gramschmidt")


@pytest.mark.parametrize("name", EXACT)
def test_of_kernels_the_counts_are_exact(name: str) -> None:
    scop = kernel_scop(name)
    demand, program = check(scop, sizes := asked(scop, 5))
    outputs = outputs_of(scop)
    counted = operations_by_force(program)
    assert dict(demand.operations) == {operation: n for operation, n in counted.items() if n}, sizes
    assert (demand.traffic.read, demand.traffic.written) == bytes_by_force(program, outputs)


@pytest.mark.parametrize(
    "name", ["gemm", "trisolv", "cholesky", "durbin", "lu", "gramschmidt", "seidel-2d"]
)
def test_chains_are_nearly_as_long_as_the_longest(name: str) -> None:
    scop = kernel_scop(name)
    demand, program = check(scop, asked(scop, 6))
    assert chain_of(demand) >= 0.75 * longest_chain(program, cost) > 0


@pytest.mark.parametrize("name", ["durbin", "gramschmidt", "adi", "cholesky"])
def test_rounds_that_are_taken_at_once_are_those_that_are_walked(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scop = kernel_scop(name)
    sizes = asked(scop, 14)
    ground = find_value_flows(scop, outputs_of(scop), sizes)
    at_once = dependence_chains.dependence_chains(ground, sizes)
    monkeypatch.setattr(dependence_chains, "_skip_cycles", lambda *_: None)
    assert dependence_chains.dependence_chains(ground, sizes) == at_once


def test_the_suite_at_its_usual_size() -> None:
    """Numbers that can be worked out by hand, and none of them is out of isl's reach."""
    sizes = dict(polybench.kernel("gemm").parameters(polybench.Dataset.LARGE))
    scop = kernel_scop("gemm")
    n, m, k = 1000, 1100, 1200
    assert sorted(sizes.values()) == [n, m, k]
    demand = scop_demand(scop, ["C"], sizes)
    double = ScalarType.DOUBLE
    assert dict(demand.operations) == {
        TypedOperation(ArithmeticKind.MULTIPLY, double): n * m * k + n * m + n * k,
        TypedOperation(ArithmeticKind.ADD, double): n * m * k,
    }
    assert demand.traffic.read == 8 * (n * k + k * m + n * m + 2)
    assert demand.traffic.written == 8 * n * m
    assert (
        (LatencyTerm(LatencyStep.ADD, double), k),
        (LatencyTerm(LatencyStep.MULTIPLY, double), 1),
    ) in demand.chains


C = """
void f(int n, double A[n], double B[n], double C[n][n], float F[n], int I[n], double s[1]) {{
  double t;
#pragma scop
{body}
#pragma endscop
}}
"""


def small(body: str, size: int = 9, outputs: tuple[str, ...] | None = None) -> dict[str, int]:
    """Return how many operations of each kind, by their name and type."""
    scop = parse_text(C.format(body=body))
    demand = scop_demand(scop, outputs or outputs_of(scop), {"n": size})
    return {
        f"{operation.kind.name} {operation.type.value}": n for operation, n in demand.operations
    }


LOOP = "for (int i = 0; i < n; i++)"
TWO = f"{LOOP} for (int j = 0; j < n; j++)"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Without data, or with what takes nothing.
        (f"{LOOP} A[i] = 2.0 * i + 1;", {}),
        (f"{LOOP} A[i] = -B[i];", {}),
        (f"{LOOP} A[i] = 1.0 * B[i] + 0.0;", {}),
        (f"{LOOP} I[i] = I[i] + 1;", {}),
        # What LLVM may replace.
        (f"{LOOP} A[i] = 2.0 * B[i];", {"ANY double": 9}),
        (f"{LOOP} A[i] = B[i] / 4.0;", {"ANY double": 9}),
        (f"{LOOP} A[i] = B[i] / 3.0;", {"DIVIDE double": 9}),
        # Narrow types.
        (f"{LOOP} F[i] = F[i] * 3.0;", {"MULTIPLY float": 9}),
        # What is the same for many instances is done once: here, and through a scalar.
        (f"{TWO} C[i][j] += A[i] * B[i];", {"MULTIPLY double": 9, "ADD double": 81}),
        (
            f"{TWO} {{ t = A[i] * B[i]; C[i][j] = t * t; }}",
            {"MULTIPLY double": 18},
        ),
        (f"{TWO} C[i][j] = A[i] * B[j];", {"MULTIPLY double": 81}),
        # Two statements that do the same, and operands the other way round.
        (f"{LOOP} {{ A[i] = F[i] * 3.0f; C[i][0] = F[i] * 3.0f; }}", {"MULTIPLY float": 9}),
        (f"{TWO} C[i][j] = A[i] * B[j] + B[j] * A[i];", {"MULTIPLY double": 81, "ADD double": 81}),
        # What was computed into a scalar is what it was computed from.
        (
            f"{LOOP} {{ t = A[i] * B[i]; C[i][0] = t + 1.5; C[i][1] = A[i] * B[i] + 1.5; }}",
            {"MULTIPLY double": 9, "ADD double": 9},
        ),
        # A copy has the value of what it copies, and neither is narrow because the other is.
        (
            f"{LOOP} {{ t = A[i]; C[i][0] = t * B[i]; C[i][1] = A[i] * B[i]; }}",
            {"MULTIPLY double": 9},
        ),
        (
            f"{LOOP} {{ F[i] = A[i] * B[i]; C[i][1] = A[i] * B[i]; }}",
            {"MULTIPLY double": 9},
        ),
        # What LLVM may know may be one, here it is.
        (f"t = 1.0; {LOOP} A[i] = B[i] * t;", {}),
        # In the first instance there is nothing to multiply or to divide by.
        (f"t = 1.0; {LOOP} {{ t = t * B[i]; A[i] = t; }}", {"MULTIPLY double": 8}),
        (f"t = 1.0; {LOOP} {{ A[i] = B[i] / t; t = B[i]; }}", {"DIVIDE double": 8}),
        # Bits, and an integer operation that is none.
        (f"{LOOP} I[i] = (I[i] & 7) ^ (I[i] << 2);", {}),
        (f"{TWO} I[i] += I[i] * I[j];", {"ANY int": 162}),
        # Neighbours share a sum: of n - 1 pairs each is one.
        (
            "for (int i = 1; i < n - 1; i++) C[0][i] = (A[i] + A[i - 1]) * (A[i + 1] + A[i]);",
            {"ADD double": 7, "MULTIPLY double": 7},
        ),
        # In an arm nothing is certain, the condition is.
        (f"{LOOP} A[i] = B[i] > 0.5 ? B[i] * 3.0 : B[i] + 2.0;", {"ANY double": 9}),
        # What nobody needs takes no time.
        (f"t = 0.0; {LOOP} t += A[i]; {LOOP} B[i] = A[i] * 3.0;", {"MULTIPLY double": 9}),
        (f"{LOOP} t = A[i] * 3.0; {LOOP} B[i] = t + 1.0;", {"ADD double": 1, "MULTIPLY double": 1}),
    ],
)
def test_what_any_code_carries_out(body: str, expected: dict[str, int]) -> None:
    assert small(body) == expected


def test_only_what_leads_to_an_output_counts() -> None:
    body = f"{LOOP} A[i] = B[i] * 3.0; {LOOP} s[0] += B[i];"
    assert small(body, outputs=("A",)) == {"MULTIPLY double": 9}
    assert small(body, outputs=("s",)) == {"ADD double": 9}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{LOOP} s[0] += A[i];", {LatencyStep.ADD: 9}),
        (f"{LOOP} s[0] = s[0] * A[i] + B[i];", {LatencyStep.MULTIPLY_ADD: 9}),
        (f"{LOOP} s[0] = (s[0] - A[i]) / B[i];", {LatencyStep.ADD: 9, LatencyStep.DIVIDE: 9}),
        ("for (int i = 1; i < n; i++) A[i] = A[i - 1] * B[i];", {LatencyStep.MULTIPLY: 8}),
        # The storage of a scalar is no reason to wait.
        (
            f"{LOOP} {{ t = A[i] + 1.0; B[i] = t * t; }}",
            {LatencyStep.ADD: 1, LatencyStep.MULTIPLY: 1},
        ),
        # Integers may be added in any order, and a branch be guessed.
        (f"{LOOP} I[0] += I[i];", {}),
        (f"{LOOP} s[0] = s[0] > A[i] ? s[0] : A[i];", {}),
        (f"{LOOP} s[0] = fmax(s[0], A[i]);", {}),
    ],
)
def test_what_waits_for_what(body: str, expected: dict[LatencyStep, int]) -> None:
    scop = parse_text("#include <math.h>\n" + C.format(body=body))
    demand = scop_demand(scop, outputs_of(scop), {"n": 9})
    best = max(demand.chains, key=lambda chain: sum(n for _, n in chain), default=())
    assert {wait.step: n for wait, n in best} == expected


def test_there_is_no_path_into_a_condition_or_an_integer() -> None:
    scop = parse_text(C.format(body=f"{LOOP} A[i] = A[i] < 1.0 ? A[i] * 2.0 : B[i];"))
    (statement,) = scop.statements
    assert all(latency_path(scop, statement, access) is None for access in statement.reads)


def test_reads_at_computed_subscripts_may_be_of_one_element() -> None:
    scop = parse_text(C.format(body=f"{LOOP} A[i] = B[I[i]];"))
    demand = scop_demand(scop, ["A"], {"n": 100})
    assert (demand.traffic.read, demand.traffic.written) == (4 * 100, 8 * 100)


def test_stores_that_may_not_happen_are_no_traffic_and_no_operations() -> None:
    """The condition is evaluated; what is under it, and where it is stored, may be nothing."""
    scop = parse_text(C.format(body=f"{LOOP} if (A[i] + 1.5 > 0.5) B[I[i]] = A[i] * 2.0 + t;"))
    demand = scop_demand(scop, ["B"], {"n": 100})
    assert demand.traffic.written == 0
    assert demand.traffic.read <= 8 * 100
    assert {operation.kind for operation, _ in demand.operations} <= {
        ArithmeticKind.ADD,
        ArithmeticKind.ANY,
    }


def test_what_reads_behind_such_a_store_has_no_chain_through_it() -> None:
    body = f"{LOOP} {{ if (A[i] > 0.5) B[I[i]] = A[i]; C[0][i] = B[i] + 1.5; }}"
    demand = scop_demand(parse_text(C.format(body=body)), ["B", "C"], {"n": 100})
    assert demand.traffic.written == 8 * 100
    assert demand.traffic.read <= 8 * 200


@pytest.mark.parametrize("narrow", ["float16", "bfloat16", "float"])
def test_narrow_numbers_are_for_the_lanes_of_floats(narrow: str) -> None:
    text = f"def f({narrow}(N) A, {narrow}(N) B) -> (C) {{ C(i) = A(i) + B(i) }}"
    demand = scop_demand(lower_definition(parse_definitions(text)[0]), ["C"], {"N": 64})
    assert all(operation.type is ScalarType.FLOAT for operation, _ in demand.operations)
    assert demand.operations
