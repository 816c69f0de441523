"""Loop trees against enumeration: a tree and its schedule run the same instances in one order."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.errors import LimitError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.transformations.loop_tree import (
    Loop,
    LoopTree,
    StatementNode,
    constant_row,
    loop_tree_of,
    normal_body,
)
from polygym.transformations.parsing import parse_step
from tests.c_programs import SMALL_PROGRAMS, Y_AX
from tests.oracles.random_schedules import random_legal_schedule
from tests.transformations.by_force import (
    PROGRAMS,
    c_function,
    check_tree,
    in_one_line,
    instances_of,
    random_schedule,
    run_schedule,
    run_tree,
    scop_named,
    start_of,
)


def check_same_order(scop: Scop, schedule: Schedule) -> LoopTree:
    """Check that a tree runs as its schedule, and as the schedule that it writes."""
    tree = loop_tree_of(schedule)
    check_tree(tree)
    every, parameters = instances_of(scop)
    ran = run_tree(tree, every, parameters)
    assert in_one_line(ran) == in_one_line(run_schedule(schedule, every, parameters))
    assert ran == run_schedule(tree.schedule, every, parameters)
    again = loop_tree_of(tree.schedule)
    assert again == tree
    assert [loop.name for loop in tree.loops] == [f"L{k + 1}" for k in range(len(tree.loops))]
    return tree


@pytest.mark.parametrize("name", PROGRAMS)
def test_original_orders(name: str) -> None:
    scop = scop_named(name)
    tree = check_same_order(scop, original_schedule(scop))
    depth = max(statement.depth for statement in scop.statements)
    assert max(len(tree.paths[statement.name]) for statement in scop.statements) == depth


@pytest.mark.parametrize("name", PROGRAMS)
def test_schedules_of_isl(name: str) -> None:
    scop = scop_named(name)
    try:
        schedule = isl_schedule(scop)
    except LimitError:
        pytest.skip("isl finds no schedule in time")
    check_same_order(scop, schedule)


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_random_schedules(name: str) -> None:
    """Legal ones, and others with ties, idle rows and rows of parameters."""
    scop = parse_text(SMALL_PROGRAMS[name])
    generator = np.random.default_rng(5)
    for _ in range(4):
        check_same_order(scop, random_legal_schedule(scop, generator))
    for dimensions in (1, 2, 3, 4):
        check_same_order(scop, random_schedule(scop, generator, dimensions))


def test_the_tree_of_y_ax() -> None:
    tree = loop_tree_of(original_schedule(parse_text(Y_AX)))
    assert tree.text() == "L1 (S: i)\n  S\nL2 (T: i)\n  L3 (T: j)\n    T"
    first, second, third = tree.loops
    assert tree.nests == (first, second)
    assert tree.next_number == 4
    assert tree.paths == {
        "L1": (), "S": (first,), "L2": (), "L3": (second,), "T": (second, third)
    }  # fmt: skip
    assert tree.chain("L2") == (second, third)
    assert tree.chain("L1") == (first,)
    assert tree.nest_of("L3") == tree.nest_of("L2") == tree.nest_of("T") == second
    assert tree.body_around("L3") == (third,)
    assert tree.body_around("L1") == tree.body
    assert str(tree.schedule) == "[n] -> { S[i] -> [0, i, 0]; T[i, j] -> [1, i, j] }"


def test_names_are_not_part_of_the_shape() -> None:
    schedule = original_schedule(parse_text(Y_AX))
    tree, later = loop_tree_of(schedule), loop_tree_of(schedule, 7)
    assert tree.shape == later.shape
    assert [loop.name for loop in later.loops] == ["L7", "L8", "L9"]
    assert later.next_number == 10
    assert hash(tree.shape) == hash(later.shape)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        # Rows that order nothing: constants, the same row again behind a difference.
        ("[n] -> { S[i] -> [3, 0, i, 7]; T[i, j] -> [3, 1, i, j] }", "L1(S) L2(L3(T))"),
        # So are parameters that are the same for all, with different constants.
        ("[n] -> { S[i] -> [n + 1, i, 0]; T[i, j] -> [n, i, j] }", "L1(L2(T)) L3(S)"),
        # Others are a loop of one iteration for each.
        ("[n] -> { S[i] -> [n, i, 0]; T[i, j] -> [3, i, j] }", "L1(L2(L3(S T)))"),
        # A row that is a constant for one statement only is a loop around both.
        ("[n] -> { S[i] -> [0, i, 0]; T[i, j] -> [i, n, j] }", "L1(L2(L3(S T)))"),
        # T in two instances at a time, T not ordered by S.
        ("[n] -> { S[i] -> [i]; T[i, j] -> [i + j] }", "L1(S T)"),
        ("[n] -> { S[i] -> [0]; T[i, j] -> [0] }", "S T"),
        ("[n] -> { S[i] -> [1, i]; T[i, j] -> [0, j] }", "L1(T) L2(S)"),
        # The constants -5, 2 and 9: the nodes of a body, whatever the numbers.
        ("[n] -> { S[i] -> [9, i]; T[i, j] -> [-5, j] }", "L1(T) L2(S)"),
    ],
)
def test_degenerate_schedules(text: str, shape: str) -> None:
    scop = parse_text(Y_AX)
    tree = loop_tree_of(parse_schedule(text, scop))

    def written(body: tuple) -> str:
        return " ".join(
            node.name if isinstance(node, StatementNode) else f"{node.name}({written(node.body)})"
            for node in body
        )

    assert written(tree.body) == shape
    every, parameters = instances_of(scop)
    schedule = parse_schedule(text, scop)
    ran = run_tree(tree, every, parameters)
    assert in_one_line(ran) == in_one_line(run_schedule(schedule, every, parameters))
    assert loop_tree_of(tree.schedule).shape == tree.shape


TWO_DEEP = c_function(
    "for (int i = 0; i < n; i++)\n  for (int j = 0; j < n; j++) {\n"
    "S:  A[i][j] = i;\nT:  B[i][j] = A[i][j];\n  }",
    "int n, double A[n][n], double B[n][n]",
)


def test_a_loop_of_one_iteration_is_a_body() -> None:
    """``L1 (S: 1, T: 0)`` orders T before S, and each has a loop of its own in it."""
    tree = loop_tree_of(original_schedule(parse_text(TWO_DEEP)))
    outer, inner = tree.loops
    zero, one = (constant_row(2, 1, value) for value in (0, 1))
    idle = Loop("L1", ("S", "T"), (one, zero), (inner,))
    result = tree.with_body((idle,))
    check_tree(result)
    assert result.text() == "L2 (T: j)\n  T\nL3 (S: j)\n  S"
    assert result.next_number == 4
    same = Loop("L1", ("S", "T"), (one, one), (inner,))
    assert normal_body((same,)) == (inner,)
    assert tree.with_body((outer,)) == tree


def test_a_loop_that_is_idle_for_the_statements_that_are_left() -> None:
    """L2 is a loop for S alone: where T is apart from it, it is gone."""
    tree = loop_tree_of(original_schedule(parse_text(TWO_DEEP)))
    inner = tree.loops[1]
    zero, one = (constant_row(2, 1, value) for value in (0, 1))
    second = Loop("L2", ("S", "T"), (inner.rows[0], zero), inner.body)
    result = tree.with_body((Loop("L1", ("S", "T"), (zero, one), (second,)),))
    check_tree(result)
    assert result.text() == "L2 (S: j)\n  S\nT"


def test_a_skew_that_makes_a_loop_idle_leaves_unique_names() -> None:
    """L2 runs S at i and T at i + 1: without i it is the order of S and T, and L3 is two loops."""
    state = start_of(TWO_DEEP).after(
        parse_step("schedule { S[i, j] -> [i, i, j]; T[i, j] -> [i, i + 1, j] }")
    )
    assert state.tree.text().startswith("L3 (S: i, T: i)\n  L4 (S: i, T: i + 1)")
    skewed = state.after(parse_step("skew L4 L3 -1")).tree
    check_tree(skewed)
    assert skewed.text() == ("L3 (S: i, T: i)\n  L5 (S: j)\n    S\n  L6 (T: j)\n    T")


def test_loops_and_labels_have_different_names() -> None:
    """Labels of a program may be ``L1`` and ``L3``: its loops begin with L4."""
    state = start_of(
        c_function(
            "for (int i = 0; i < n; i++)\nL1: A[i] = i;\nfor (int i = 0; i < n; i++) {\n"
            "L3: B[i] = A[i];\nX: C[i] = A[i];\n}",
            "int n, double A[n], double B[n], double C[n]",
        )
    )
    check_tree(state.tree)
    assert [loop.name for loop in state.tree.loops] == ["L4", "L5"]
    distributed = state.after(parse_step("distribute L5 before X")).tree
    check_tree(distributed)
    assert [loop.name for loop in distributed.loops] == ["L4", "L5", "L6"]
    assert state.after(parse_step("reorder L3 X")).tree.text().endswith("  X\n  L3")


def test_replaced_nodes() -> None:
    tree = loop_tree_of(original_schedule(parse_text(TWO_DEEP)))
    first, second = tree.loops[1].body
    swapped = tree.with_body(tree.replaced("S", "T", by=(second, first)))
    assert [node.name for node in swapped.loops[1].body] == ["T", "S"]
    assert swapped.loops[0].statements == ("T", "S")
    alone = tree.with_body(tree.replaced("T", by=()))
    assert alone.loops[0].statements == alone.loops[1].statements == ("S",)
    assert tree.replaced("L1", by=()) == ()
