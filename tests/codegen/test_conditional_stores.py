"""Stores that may not happen, and stores at computed subscripts."""

import numpy as np

from polygym.codegen.c import print_c
from polygym.codegen.llvm.core.binary_interface import FIRST_OUT_OF_RANGE
from polygym.codegen.pipeline import lower
from polygym.frontend.c import parse_text
from polygym.ir.expressions import Update
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING
from polygym.poly.dependences import dependences
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.codegen.loop_programs import MORE_PROGRAMS
from tests.oracles.compiled_runs import quick_code, random_arrays, run_code, run_in_order
from tests.oracles.interpreter import interpret

GUARDED = """
void f(int n, double a[n], double b[n], int k[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    if (a[i] > 0.5)
      b[k[i]] = a[i] + b[i + 1];
#pragma endscop
}
"""
SHIFTED = GUARDED.replace("b[k[i]] = a[i] + b[i + 1]", "b[i + 1] = a[i]")


def run(text: str, arrays: dict[str, np.ndarray], mapping=SEQUENTIAL_MAPPING) -> int:
    scop = parse_text(text)
    program = lower(LegalSchedule(scop, original_schedule(scop)), mapping, {"n": 4})
    return run_code(quick_code(program), program, {"n": 4}, arrays)


def arrays(a: list[float], k: list[int]) -> dict[str, np.ndarray]:
    return {"a": np.array(a), "b": np.arange(4.0), "k": np.array(k, np.int32)}


def test_it_computes_what_the_interpreter_does() -> None:
    scop, sizes = parse_text(MORE_PROGRAMS["updates"]), {"n": 7, "m": 5}
    stored = random_arrays(scop, sizes, np.random.default_rng(3))
    expected = {name: array.copy() for name, array in stored.items()}
    interpret(scop, sizes, expected)
    run_in_order(scop, sizes, stored)
    for array in scop.arrays:
        if array.live_out:
            np.testing.assert_array_equal(stored[array.name], expected[array.name])


def test_where_the_condition_fails_no_subscript_matters() -> None:
    for mapping in (SEQUENTIAL_MAPPING, DEFAULT_MAPPING):
        given = arrays([0.0, 1.0, 0.0, 0.0], [-5, 3, 10**9, 4])
        assert run(GUARDED, given, mapping) == 0
        assert given["b"].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_where_it_holds_a_subscript_out_of_range_is_said_and_nothing_is_stored() -> None:
    """The sites are those of b[k[i]], which is written, and of b[i + 1], which is read."""
    given = arrays([0.0, 1.0, 0.0, 0.0], [0, 4, 0, 0])
    assert run(GUARDED, given) == FIRST_OUT_OF_RANGE
    assert given["b"].tolist() == [0.0, 1.0, 2.0, 3.0]
    given = arrays([0.0, 0.0, 0.0, 1.0], [0, 0, 0, 0])
    assert run(GUARDED, given) == FIRST_OUT_OF_RANGE + 1


def test_an_affine_subscript_that_is_looked_at_keeps_its_dependences_exact() -> None:
    scop = parse_text(SHIFTED)
    (statement,) = scop.statements
    assert isinstance(statement.body, Update)
    assert dependences(scop) == ()
    scattered = parse_text(GUARDED)
    assert [dependence.kind.names() for dependence in dependences(scattered)] == [
        ("flow", "anti", "output")
    ]


def test_in_c_it_is_a_statement_under_its_condition() -> None:
    scop = parse_text(SHIFTED)
    text = print_c(lower(LegalSchedule(scop, original_schedule(scop))))
    assert "if (a[c0] > 0.5) b[polygym_in(((int)c0) + 1, n, " in text
