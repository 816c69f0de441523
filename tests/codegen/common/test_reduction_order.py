"""What keeps its order where sums are in any order: by force, and by running other orders."""

import numpy as np
import pytest

from polygym.codegen.common.reduction_order import ordering_conflicts, reorderable_reductions
from polygym.codegen.common.reductions import ReductionOperator, reduction_operator
from polygym.frontend.c import parse_text
from polygym.poly.scheduling.baselines import original_schedule
from tests.oracles.compiled_runs import random_arrays
from tests.oracles.instances import Instance, pairs, trace
from tests.oracles.interpreter import interpret
from tests.oracles.reduction_order import any_order, conflicts_by_force

HEAD = "void f(int n, {kind} t[n][n], {kind} w[n], {kind} x[n]) {{\n#pragma scop\n"
FOLDED = """
  for (int i = n - 1; i >= 0; i--)
    for (int j = i + 1; j < n; j++) {
      t[i][j] = t[i][j] >= t[i][j - 1] ? t[i][j] : t[i][j - 1];
      if (i + 1 < n)
        t[i][j] = t[i][j] >= t[i + 1][j - 1] + w[j] ? t[i][j] : t[i + 1][j - 1] + w[j];
      for (int k = i + 1; k < j; k++)
        t[i][j] = t[i][j] >= t[i][k] + t[k + 1][j] ? t[i][j] : t[i][k] + t[k + 1][j];
    }
"""
SET_FIRST = """
  for (int i = n - 1; i >= 0; i--)
    for (int j = i + 1; j < n; j++) {
      t[i][j] = w[i];
      for (int k = i + 1; k < j; k++)
        t[i][j] += t[i][k] * t[k][j];
      x[i] = t[i][j] - x[i];
    }
"""
TWO_OPERATORS = """
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      x[i] += t[i][j];
      x[i] *= w[j];
      x[n - 1 - i] -= w[i];
    }
"""
MEETING = """
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      x[i] += x[j] * w[i];
"""
PROGRAMS = {
    "folded": (FOLDED, "S2"),
    "set first": (SET_FIRST, "S1"),
    "two operators": (TWO_OPERATORS, "S0"),
    "meeting": (MEETING, "S0"),
}


def text_of(body: str, kind: str = "int") -> str:
    return f"{HEAD.format(kind=kind)}{body}#pragma endscop\n}}\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_conflicts_are_those_of_brute_force(name: str) -> None:
    body, statement = PROGRAMS[name]
    scop, sizes = parse_text(text_of(body)), {"n": 4}
    sums = frozenset({reorderable_reductions(scop, statement, reassociate=False)})
    (group,) = sums
    run = trace(scop, original_schedule(scop), sizes)
    expected = {
        pair
        for pair in conflicts_by_force(scop, run, sums, sizes)
        if not group.isdisjoint((pair[0][0], pair[1][0]))
    }
    conflicts = {
        ((source, first), (sink, second))
        for source, sink, relation in ordering_conflicts(scop, sums)
        for first, second in pairs(relation, sizes)
    }
    assert conflicts == expected
    assert conflicts


def order_text(order: list[Instance]) -> str:
    parts = (
        f"{name}[{', '.join(map(str, point))}] -> [{place}]"
        for place, (name, point) in enumerate(order)
    )
    return f"{{ {'; '.join(parts)} }}"


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_order_that_keeps_conflicts_has_the_same_results(name: str, seed: int) -> None:
    body, statement = PROGRAMS[name]
    scop, sizes = parse_text(text_of(body)), {"n": 4}
    rng = np.random.default_rng([41, seed])
    sums = frozenset({reorderable_reductions(scop, statement, reassociate=False)})
    run = trace(scop, original_schedule(scop), sizes)
    order = any_order(run, conflicts_by_force(scop, run, sums, sizes), rng)
    arrays = random_arrays(scop, sizes, rng)
    for array in arrays.values():  # numbers that wrap around
        array[...] = rng.integers(-(2**31), 2**31, size=array.shape)
    expected = {key: array.copy() for key, array in arrays.items()}
    interpret(scop, sizes, expected)
    interpret(scop, sizes, arrays, order_text(order))
    assert order != list(run.order)
    for key, array in arrays.items():
        assert array.tobytes() == expected[key].tobytes()


def test_two_operators_are_two_groups() -> None:
    scop = parse_text(text_of(TWO_OPERATORS))
    assert reorderable_reductions(scop, "S0", reassociate=False) == {"S0", "S2"}
    assert reorderable_reductions(scop, "S1", reassociate=False) == {"S1"}


@pytest.mark.parametrize(
    ("kind", "line", "reassociate", "is_free"),
    [
        ("int", "x[i] += t[i][j];", False, True),
        ("long", "x[i] = x[i] > t[i][j] ? x[i] : t[i][j];", False, True),
        ("double", "x[i] += t[i][j];", False, False),
        ("double", "x[i] += t[i][j];", True, True),
        ("double", "x[i] = x[i] > t[i][j] ? x[i] : t[i][j];", True, False),
        ("int", "x[i] = t[i][j] - x[i];", False, False),
        ("int", "x[i] /= t[i][j];", False, False),
        ("int", "x[i] = t[i][j];", False, False),
        ("int", "x[i] = x[i] + 0.5;", True, False),
        ("int", "x[i] = x[i] + (long)t[i][j];", False, True),  # cut off in the end
        ("long", "x[i] = (int)x[i] + t[i][j];", False, False),  # cut off before
        ("int", "x[i] = t[i][j] > 2 ? x[i] + t[i][j] : x[i];", False, True),
        ("int", "x[i] = x[i] > 2 ? x[i] + t[i][j] : x[i];", False, False),
        ("int", "x[i] = t[i][j] > 2 ? x[i] + 1 : x[i] * 2;", False, False),
    ],
)
def test_whose_terms_may_be_in_any_order(
    kind: str, line: str, reassociate: bool, is_free: bool
) -> None:
    loops = f"  for (int i = 0; i < n; i++)\n    for (int j = 0; j < n; j++)\n      {line}\n"
    scop = parse_text(text_of(loops, kind))
    names = reorderable_reductions(scop, "S0", reassociate=reassociate)
    assert names == ({"S0"} if is_free else frozenset())


def test_a_scalar_is_none_of_these() -> None:
    scop = parse_text(
        "void f(int n, int x[n], int y[1]) {\n#pragma scop\n  int s = 0;\n"
        "  for (int i = 0; i < n; i++)\n    s += x[i];\n  y[0] = s;\n#pragma endscop\n}\n"
    )
    sums = [
        statement.name
        for statement in scop.statements
        if reduction_operator(statement) is ReductionOperator.SUM
    ]
    assert sums
    assert all(not reorderable_reductions(scop, name, reassociate=True) for name in sums)
