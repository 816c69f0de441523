"""Tiles are copied back only where somebody reads the array, or sees it afterwards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polygym.codegen.common.loop_annotation import LaneRows
from polygym.codegen.loopir.ir import Block, Loop, LoopProgram, instances_in
from polygym.codegen.loopir.nests import sequence_parts
from polygym.codegen.loopir.pass_types import CodegenRequest
from polygym.codegen.passes import GENERATE, PLAN
from polygym.codegen.recurrences.recurrence_lanes.transform import apply_recurrence_lanes
from polygym.codegen.transforms.privatization import privatize
from polygym.codegen.transforms.vectorization import vectorize
from polygym.codegen.tree.build import build_tree
from polygym.codegen.validate.bounds import with_bounds_proofs
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.mapping import SEQUENTIAL_MAPPING
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.plan import parse_storage
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_loops

ROWS = LaneRows(256, 2, 4)
SIZES = {"n": 37, "m": 300}  # several strips and blocks, the last of them partial

NEST = """
  for (int i = 0; i < n; i++)
    for (int j = {first}; j < m; j++) {{
      {u} = x[i][j] * 0.5;
      y[i][j] = -0.5 / (0.25 * y[i][j - 1] + {u});
      z[i][j] = ({u} - z[i][j - 1]) / (y[i][j - 1] + 4.0);
    }}
"""
LATER = "for (int i = 0; i < n; i++) for (int j = 1; j < m; j++) x[i][j] = u[i][j] + 1.0;\n"


def source(variable: str, u: str, first: str = "1", later: str = "", outside: str = "") -> Scop:
    return parse_text(
        "void f(int n, int m, double x[n][m], double y[n][m], double z[n][m]) {\n"
        f"double {variable};\n#pragma scop\n{NEST.format(u=u, first=first)}{later}"
        f"#pragma endscop\n{outside}}}\n"
    )


SCALAR = source("u", "u")
OWN = source("u[n][m]", "u[i][j]")

# The program, its plan, and which arrays tiles are copied back to.
PROGRAMS = {
    "private": (SCALAR, "u=private:i,j", {"y", "z"}),
    "expanded": (SCALAR, "u=expand:i,j", {"y", "z"}),
    "the function's own": (OWN, "keep", {"y", "z"}),
    "read in another nest": (source("u[n][m]", "u[i][j]", later=LATER), "keep", {"u", "y", "z"}),
    "seen afterwards": (
        source("u[n][m]", "u[i][j]", outside="y[0][0] = u[1][1];"),
        "keep",
        {"u", "y", "z"},
    ),
    "read of rows of other lengths": (source("u", "u", "i + 1"), "u=expand:i,j", {"u_1", "y", "z"}),
}


def turned(name: str) -> LoopProgram:
    """Return the loops of the text, of the first of which rows run in lanes."""
    scop, plan, _ = PROGRAMS[name]
    scop = apply_plan(scop, parse_storage(plan))
    legal = LegalSchedule(scop, original_schedule(scop))
    goal = CodegenRequest(legal, SEQUENTIAL_MAPPING)
    program = GENERATE.run(PLAN.run(build_tree(legal), goal), goal)
    first, *others = sequence_parts(program.body)
    assert isinstance(first, Loop)
    body = Block((replace(first, annotation=ROWS), *others))
    done = vectorised(apply_recurrence_lanes(replace(program, body=body)))
    return with_bounds_proofs(privatize(done), None)


def vectorised(program: LoopProgram) -> LoopProgram:
    return replace(program, body=vectorize(program.body, program.scop, frozenset()))


def copied_back(program: LoopProgram) -> set[str]:
    """Return the arrays that tiles are copied back to."""
    ran = {instance.statement for instance in instances_in(program.body)}
    return {program.scop.statement(name).write.array for name in ran if name.endswith("_back")}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_read_or_seen_is_copied_back(name: str) -> None:
    assert copied_back(turned(name)) == PROGRAMS[name][2]


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_the_same_bit_for_bit(name: str) -> None:
    scop, *_ = PROGRAMS[name]
    start = random_arrays(scop, SIZES, np.random.default_rng(4))
    expected = {key: value.copy() for key, value in start.items()}
    run_in_order(scop, SIZES, expected)
    for is_watched in (False, True):
        arrays = {key: value.copy() for key, value in start.items()}
        run_loops(turned(name), SIZES, arrays, is_watched=is_watched)
        for array in scop.arrays:
            if array.is_observable:
                assert arrays[array.name].tobytes() == expected[array.name].tobytes(), array.name
