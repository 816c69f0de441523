"""What iterations read of earlier ones stays in registers, where that is certain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.pipeline import lower
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively

JAMMED = replace(DEFAULT_MAPPING, vector_bits=0, unroll_jam=4)


def nest(line: str) -> Scop:
    """Return rows of a recurrence."""
    return parse_text(
        "void f(int n, int m, double x[n][m], double y[n][m]) {\n#pragma scop\n"
        f"for (int i = 0; i < n; i++) for (int j = 2; j < m; j++) {{ {line} }}\n"
        "#pragma endscop\n}"
    )


def carried(scop: Scop, mapping: Mapping = JAMMED) -> int:
    """Return how many numbers loops carry from one iteration to the next."""
    text = emit_llvm(lower(LegalSchedule(scop, original_schedule(scop)), mapping))
    return text.count("phi  double") + text.count("phi double")


ORDERS = {
    "y[i][j] = x[i][j] + 0.5 * y[i][j - 1];": 4,
    "y[i][j] = x[i][j] + 0.5 * y[i][j - 1] + 0.25 * y[i][j - 2];": 8,
    # The value of two iterations before, that of one before need not exist.
    "y[i][j] = x[i][j] + 0.25 * y[i][j - 2];": 0,
    "y[i][j] = x[i][j] + (x[i][j] > 1.0 ? y[i][j - 1] : 0.5);": 4,
    # Two writes.
    "y[i][j] = x[i][j] + y[i][j - 1]; y[i][j - 1] = x[i][j - 1];": 0,
}
OTHERS = (
    "y[i][j] = x[i][j] + (j > 5 ? y[i][j - 1] : 0.5);",
    "y[i][j] = x[i][j] + (j > 5 ? y[i][j - 2] : 0.5) + y[i][j - 1];",
    "y[i][j] = x[i][j] + (i > 0 ? y[i - 1][j - 1] : 0.5) + y[i][j - 1];",
)


@pytest.mark.rotates
@pytest.mark.parametrize("line", [*ORDERS, *OTHERS])
@pytest.mark.parametrize("sizes", [(9, 2), (9, 3), (4, 4), (23, 40)])
def test_the_bits_are_those_of_the_text(line: str, sizes: tuple[int, int]) -> None:
    scop, known = nest(line), dict(zip("nm", sizes, strict=True))
    start = random_arrays(scop, known, np.random.default_rng(0))
    expected, arrays, watched = ({k: v.copy() for k, v in start.items()} for _ in range(3))
    run_in_order(scop, known, expected)
    run_natively(scop, original_schedule(scop), known, arrays, JAMMED)
    run_natively(scop, original_schedule(scop), known, watched, JAMMED, is_watched=True)
    assert expected["y"].tobytes() == arrays["y"].tobytes() == watched["y"].tobytes()


def test_copies_carry_what_is_certain() -> None:
    assert {line: carried(nest(line)) for line in ORDERS} == ORDERS


def test_the_order_of_the_text_is_left_to_llvm() -> None:
    assert (
        carried(nest(next(iter(ORDERS))), replace(DEFAULT_MAPPING, vector_bits=0, unroll_jam=1))
        == 0
    )
