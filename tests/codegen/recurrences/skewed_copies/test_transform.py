"""Skewed copies: bit for bit what the order of the text leaves, and no more copied than must be."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.codegen.common.loop_annotation import (
    DiagonalLoop,
    ParallelLoop,
    ScalarReplacement,
    UnrollAndJam,
    VectorLoop,
)
from polygym.codegen.common.reductions import ReductionOperator
from polygym.codegen.loopir.ir import Loop, LoopProgram, Node, loops_in, map_children
from polygym.codegen.loopir.pass_types import CodegenRequest
from polygym.codegen.passes import GENERATE, PLAN
from polygym.codegen.pipeline import lower
from polygym.codegen.recurrences.skewed_copies import plan
from polygym.codegen.recurrences.skewed_copies.plan import Skew
from polygym.codegen.recurrences.skewed_copies.transform import apply_skewed_copies
from polygym.codegen.tree.build import build_tree
from polygym.codegen.validate.interpreter import InstancePoint, make_runner
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop, StorageClass
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_loops
from tests.oracles.threads import every_loop_shared

INNER = "for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)"
FIVE = "A[i][j] = 0.2f * (A[i - 1][j] + A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j]);"
NINE = (
    "A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j]"
    " + A[i][j + 1] + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) / 9.0;"
)
TRIANGLE = "for (int i = 1; i < n - 1; i++) for (int j = 1; j < i && j < m - 1; j++)"
BACK = "for (int i = n - 2; i >= 1; i--) for (int j = m - 3; j >= 0; j--)"
CUBE = f"{INNER} for (int l = 1; l < m - 1; l++)"

PROGRAMS = {
    "five points": (f"{INNER} {FIVE}", "float A[n][m]"),
    "nine points": (f"{INNER} {NINE}", "double A[n][m]"),
    "two arrays": (
        f"{INNER} {{ {FIVE.replace('A[i][j] +', 'B[i][j] +')}"
        " B[i][j] = 0.3 * (B[i - 1][j] + A[i][j] * B[i][j - 1]); }",
        "double A[n][m], double B[n][m]",
    ),
    "backwards": (
        f"{BACK} A[i][j] = 0.5 * A[i + 1][j] + 0.25 * A[i][j + 2] - A[i - 1][j] * c[j];",
        "double A[n][m], double c[m]",
    ),
    "triangle": (f"{TRIANGLE} {FIVE}", "double A[n][m]"),
    "other side": (
        f"{INNER} A[j][i] = 0.2 * (A[j - 1][i] + A[j][i - 1] + A[j + 1][i] + A[j][i + 1]);",
        "double A[m][n]",
    ),
    "condition": (
        f"{INNER} A[i][j] = A[i - 1][j] > 0.5 ? A[i][j - 1] + 0.1 * A[i][j + 1]"
        " : A[i + 1][j] - 0.1 * A[i][j];",
        "double A[n][m]",
    ),
    "integers": (f"{INNER} A[i][j] = A[i - 1][j] * 3 + A[i][j - 1] - A[i + 1][j];", "int A[n][m]"),
    "far": (
        "for (int i = 2; i < n - 2; i++) for (int j = 3; j < m - 3; j++)"
        " A[i][j] = 0.2f * (A[i - 2][j + 3] + A[i][j - 1] + A[i + 1][j - 3] + A[i + 2][j]);",
        "float A[n][m]",
    ),
    "cube": (
        f"{CUBE} A[i][j][l] = 0.2 * (A[i - 1][j][l] + A[i][j - 1][l] + A[i][j][l - 1]"
        " + A[i][j][l + 1] + A[i][j + 1][l] + A[i + 1][j][l]);",
        "double A[n][m][m]",
    ),
}
LOOPS = {name: 4 if name == "cube" else 3 for name in PROGRAMS}


@lru_cache
def program(name: str) -> Scop:
    body, arguments = PROGRAMS[name]
    return parse_text(
        f"void f(int t, int n, int m, {arguments}) {{\n#pragma scop\n"
        f"for (int s = 0; s < t; s++) {{ {body} }}\n#pragma endscop\n}}"
    )


@lru_cache
def scheduled(name: str) -> LegalSchedule:
    return LegalSchedule(program(name), isl_schedule(program(name)))


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make copies wherever they can be, though they do not pay."""
    monkeypatch.setattr(plan, "is_profitable", lambda *_: True)


def copies_of(loops: LoopProgram) -> list[str]:
    return [array.name for array in loops.scop.arrays if array.storage_class is StorageClass.TILE]


def outcome(name: str, loops: LoopProgram, sizes: dict[str, int]) -> None:
    """Check that loops leave what the text does, and touch nothing that they must not."""
    scop = program(name)
    start = random_arrays(scop, sizes, np.random.default_rng(1))
    expected, arrays, watched = ({k: v.copy() for k, v in start.items()} for _ in range(3))
    run_in_order(scop, sizes, expected)
    with every_loop_shared():
        run_loops(loops, sizes, arrays)
        run_loops(loops, sizes, watched, is_watched=True)
    for array, values in expected.items():
        assert values.tobytes() == arrays[array].tobytes(), array
        assert values.tobytes() == watched[array].tobytes(), array


SIZES = [{"t": 5, "n": 19, "m": 24}, {"t": 2, "n": 7, "m": 9}]


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("name", PROGRAMS)
def test_code_through_copies_computes_what_the_text_does(name: str) -> None:
    sizes = {"t": 4, "n": 18, "m": 9} if name == "cube" else SIZES[0]
    tile = "x".join(["3", "5", "8", "4"][: LOOPS[name]])
    loops = lower(scheduled(name), parse_mapping(f"default threads=3 tile={tile}"), sizes)
    assert copies_of(loops)
    outcome(name, loops, sizes)


@pytest.mark.usefixtures("everywhere")
@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([name for name in PROGRAMS if name != "cube"]),
    st.tuples(*[st.sampled_from([2, 3, 4, 5, 8, 16])] * 3),
    st.integers(1, 4),
    st.sampled_from(["", "separate=on", "wavefront=off", "vector_bits=128", "parallel=static"]),
    st.tuples(st.integers(0, 6), st.integers(1, 40), st.integers(1, 40)),
)
def test_under_every_mapping_at_every_size(
    name: str, tile: tuple[int, ...], threads: int, other: str, sizes: tuple[int, int, int]
) -> None:
    mapping = f"default threads={threads} tile={'x'.join(map(str, tile))} {other}"
    known = dict(zip("tnm", sizes, strict=True))
    outcome(name, lower(scheduled(name), parse_mapping(mapping), known), known)


# What an instance reads, as distances from what it writes.
NEAR = {
    "five points": [(0, 0), (-1, 0), (0, -1), (0, 1), (1, 0)],
    "nine points": [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)],
    "far": [(-2, 3), (0, -1), (1, -3), (2, 0)],
    "triangle": [(0, 0), (-1, 0), (0, -1), (0, 1), (1, 0)],
}


@pytest.mark.rotates
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("tile", ["2x3x5", "4x4x16", "3x2x2"])
@pytest.mark.parametrize("name", NEAR)
def test_a_tile_copies_what_it_reads_and_brings_back_what_it_writes(name: str, tile: str) -> None:
    sizes = SIZES[0]
    loops = before_vectors(name, f"default threads=2 tile={tile}", sizes)
    ran = make_runner(loops.body, tuple(sizes))(*sizes.values())
    parts = [(what, list(points)) for what, points in groupby(ran, lambda point: point[0])]
    names = [what for what, _ in parts]
    assert names == ["A_skewed", "S0_skewed", "A_skewed_back"] * (len(parts) // 3)
    assert len(parts) > 3
    for there, computed, back in zip(*(parts[place::3] for place in range(3)), strict=True):
        written = {iterators[1:] for _, iterators in computed[1]}
        read = {(i + a, j + b) for i, j in written for a, b in NEAR[name]}
        assert elements(there[1]) == read
        assert elements(back[1]) == written


def elements(points: list[InstancePoint]) -> set[tuple[int, ...]]:
    """Return what is copied, each element once."""
    result = {iterators for _, iterators in points}
    assert len(result) == len(points)
    return result


def before_vectors(name: str, mapping: str, sizes: dict[str, int]) -> LoopProgram:
    """Return loops with copies, of which no iterations are lanes yet."""
    return apply_skewed_copies(planned(name, mapping, sizes))


def planned(name: str, mapping: str, sizes: dict[str, int] | None) -> LoopProgram:
    goal = CodegenRequest(scheduled(name), parse_mapping(mapping), sizes)
    return GENERATE.run(PLAN.run(build_tree(goal.legal), goal), goal)


def test_a_diagonal_is_a_row_of_the_copy() -> None:
    array = program("nine points").array("A")
    assert Skew(array, (1, -2)).text == "{ [x0, x1] -> [(x1 + (2 * x0)), x0] }"
    assert Skew(array, (2, -1)).text == "{ [x0, x1] -> [(x0 + (2 * x1)), (-x1)] }"


LARGE = {"t": 64, "n": 400, "m": 400}


def annotations(loops: LoopProgram) -> list[object]:
    return [loop.annotation for loop in loops_in(loops.body)]


def test_copies_pay_where_elements_are_used_often() -> None:
    loops = planned("nine points", "default", LARGE)
    assert DiagonalLoop(256, 8) in annotations(loops)
    done = apply_skewed_copies(loops)
    assert VectorLoop(256, 1) in annotations(done)
    assert copies_of(done) == ["A_skewed"]
    once = apply_skewed_copies(planned("nine points", "default", {**LARGE, "t": 1}))
    assert UnrollAndJam(8) in annotations(once)
    assert not copies_of(once)


@pytest.mark.parametrize("other", ["pack=off", "vector_bits=off", "unroll_jam=1", "sequential"])
def test_mappings_that_forbid_it_have_no_copies(other: str) -> None:
    mapping = other if other == "sequential" else f"default {other}"
    loops = planned("nine points", mapping, LARGE)
    assert not any(isinstance(annotation, DiagonalLoop) for annotation in annotations(loops))


def test_without_sizes_diagonals_are_jammed() -> None:
    assert UnrollAndJam(8) in annotations(planned("nine points", "default", None))


def test_copies_have_an_end() -> None:
    loops = apply_skewed_copies(planned("nine points", "default tile=64x256x256", LARGE))
    assert not copies_of(loops)
    assert UnrollAndJam(8) in annotations(loops)


def test_more_arrays_have_smaller_tiles() -> None:
    assert len(copies_of(apply_skewed_copies(planned("two arrays", "default", LARGE)))) == 2


def outermost_with(node: Node, annotation: ScalarReplacement | ParallelLoop) -> Node:
    """Return a program's node whose outermost loops have an annotation."""
    if isinstance(node, Loop):
        return replace(node, annotation=annotation)
    return map_children(node, lambda part: outermost_with(part, annotation))


KEPT = [
    ParallelLoop(is_dynamic=False, reductions=(("A", ReductionOperator.SUM),)),
    ParallelLoop(is_dynamic=False, scalar_replacement=ScalarReplacement(frozenset({"S0"}))),
    ScalarReplacement(frozenset({"S0"})),
]


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("around", KEPT)
def test_what_is_held_or_summed_up_around_has_no_copy(
    around: ScalarReplacement | ParallelLoop,
) -> None:
    loops = planned("nine points", "default threads=2 tile=4x4x8", SIZES[0])
    assert copies_of(apply_skewed_copies(loops))
    spoiled = apply_skewed_copies(replace(loops, body=outermost_with(loops.body, around)))
    assert not copies_of(spoiled)
    assert spoiled.scop == loops.scop
