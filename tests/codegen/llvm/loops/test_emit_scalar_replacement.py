"""Elements in registers while loops run: what no instance has written is not stored."""

from dataclasses import replace

import numpy as np

from polygym.codegen.common.loop_annotation import LoopAnnotation, ParallelLoop, ScalarReplacement
from polygym.codegen.loopir.ir import (
    Index,
    IndexConstant,
    IndexOperation,
    IndexOperator,
    IndexVariable,
    Instance,
    Loop,
    LoopProgram,
)
from polygym.codegen.pipeline import lower
from polygym.frontend.c import parse_text
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.oracles.compiled_runs import random_arrays, run_loops
from tests.oracles.threads import every_loop_shared

SIZES = {"n": 400, "m": 1500}

# Only the iteration 0 of p changes s[0]; its innermost loop is empty in all others, but the loops
# around it are not, and the bound depends on k, so that no compiler can see that from outside.
SOURCE = """
void f(int n, int m, double A[2 * m + 100], double s[1]) {
#pragma scop
  for (int p = 0; p < n; p++)
    for (int k = 0; k < m; k++)
      for (int l = 0; l < m + 100; l++)
        s[0] += A[l];
#pragma endscop
}
"""


def program(mapping: str) -> LoopProgram:
    """Return ``for p: for k: for l <= 99 + k - (m + 100)p: s[0] += A[l]``, p in threads."""
    scop = parse_text(SOURCE)
    loop_program = lower(
        LegalSchedule(scop, original_schedule(scop)), parse_mapping(mapping), SIZES
    )
    loops = []
    node = loop_program.body
    while isinstance(node, Loop):
        loops.append(node)
        node = node.body
    assert isinstance(node, Instance), "three loops and what they run"
    outer, middle, inner = loops
    holds = ScalarReplacement(frozenset((node.statement,)))
    far = IndexOperation(
        IndexOperator.MULTIPLY, (IndexConstant(SIZES["m"] + 100), IndexVariable(outer.variable))
    )
    near = IndexOperation(IndexOperator.ADD, (IndexConstant(99), IndexVariable(middle.variable)))
    upper: Index = IndexOperation(IndexOperator.SUBTRACT, (near, far))
    annotations: tuple[LoopAnnotation, ...] = (ParallelLoop(is_dynamic=True), holds, holds)
    body: Loop = replace(inner, upper=upper, annotation=annotations[2])
    body = replace(middle, body=body, annotation=annotations[1])
    return replace(loop_program, body=replace(outer, body=body, annotation=annotations[0]))


def sums(values: list[float], start: float) -> float:
    """Return what iteration 0 of p adds, term by term."""
    for k in range(SIZES["m"]):
        for value in values[: 100 + k]:
            start += value
    return start


def test_a_thread_whose_loops_were_empty_stores_nothing() -> None:
    """Else it would put back what it had loaded before another thread stored its sum."""
    loops = program("tile=off vector_bits=off parallel=dynamic threads=2")
    arrays = random_arrays(loops.scop, SIZES, np.random.default_rng(1))
    start = arrays["s"][0]
    expected = sums(arrays["A"].tolist(), float(start))
    with every_loop_shared() as forks:
        for _ in range(10):
            arrays["s"][0] = start
            run_loops(loops, SIZES, arrays)
            assert arrays["s"][0] == expected
    assert forks.asked
