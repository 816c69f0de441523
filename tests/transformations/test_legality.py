"""Legality by generators against enumeration and against isl, over thousands of trees."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Band, Leaf, SequenceNode, Tree
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.legality import LegalSchedule, find_violation
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.spaces import farkas
from polygym.transformations import legality
from polygym.transformations.candidates import order_steps
from polygym.transformations.edge_rows import EdgeRows
from polygym.transformations.legality import LegalityTables, legality_tables
from polygym.transformations.loop_tree import LoopTree, loop_tree_of
from polygym.transformations.state import TransformProgram
from polygym.transformations.tree_steps import UnavailableStepError, apply_tree_step
from tests.c_programs import SMALL_PROGRAMS, Y_AX
from tests.oracles.random_schedules import random_legal_schedule
from tests.transformations.by_force import (
    KERNELS,
    PROGRAMS,
    RANDOM,
    SCALARS,
    c_function,
    check_violation,
    is_tree_step,
    pairs_by_force,
    random_schedule,
    scop_named,
    walk_states,
)


def some_trees(scop: Scop, generator: np.random.Generator, count: int) -> list[LoopTree]:
    """Return trees, legal or not: those of random steps, one upon the other, and of schedules."""
    edge_rows = EdgeRows(scop)
    trees = [loop_tree_of(original_schedule(scop))]
    while len(trees) < count:
        tree = trees[generator.integers(len(trees))]
        steps = list(order_steps(tree))
        if not steps:
            break
        try:
            trees.append(apply_tree_step(tree, steps[generator.integers(len(steps))], edge_rows))
        except UnavailableStepError:
            pass
    schedules = [random_legal_schedule(scop, generator) for _ in range(2)]
    schedules += [random_schedule(scop, generator, k) for k in (2, 3)]
    return trees + [loop_tree_of(schedule) for schedule in schedules]


def check_trees(scop: Scop, tables: LegalityTables, trees: list[LoopTree]) -> int:
    """Check verdicts against isl and against enumeration; return how many trees are legal."""
    pairs = pairs_by_force(scop)
    verdicts = tables.are_legal(trees)
    for tree, verdict in zip(trees, verdicts, strict=True):
        violation = find_violation(scop, tree.schedule)
        assert verdict == (violation is None), (str(violation), tree.text())
        if verdict:
            assert pairs.is_legal(tree.schedule), tree.text()
        else:
            check_violation(scop, tree.schedule, violation)
    return sum(verdicts)


@pytest.mark.parametrize("name", [*KERNELS, *RANDOM, *SCALARS])
def test_verdicts(name: str) -> None:
    scop = scop_named(name)
    tables = legality_tables(scop)
    assert all(table.is_exact for table in tables.tables)
    count = 24 if len(tables.tables) < 60 else 6
    trees = some_trees(scop, np.random.default_rng(1), count)
    legal = check_trees(scop, tables, trees)
    assert 0 < legal
    assert tables.are_legal([loop_tree_of(isl_schedule(scop))]) == [True]


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_verdicts_of_small_programs(name: str) -> None:
    scop = parse_text(SMALL_PROGRAMS[name])
    trees = some_trees(scop, np.random.default_rng(2), 40)
    check_trees(scop, legality_tables(scop), trees)


def test_there_are_legal_and_illegal_trees() -> None:
    """What the two tests above compare is not all of one kind."""
    for name in ("gemm", "jacobi-1d", "lu", "random:1", "scalars:2"):
        scop = scop_named(name)
        trees = some_trees(scop, np.random.default_rng(1), 24)
        verdicts = legality_tables(scop).are_legal(trees)
        assert 3 <= sum(verdicts) <= len(trees) - 3, name


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_reference_changes_no_verdict(name: str) -> None:
    scop = scop_named(name)
    generator = np.random.default_rng(3)
    state = TransformProgram(scop).start()
    for reference in walk_states(state, generator, 3, is_tree_step)[::3]:
        steps = list(order_steps(reference.tree))
        trees = []
        for step in steps:
            try:
                trees.append(apply_tree_step(reference.tree, step, EdgeRows(scop)))
            except UnavailableStepError:
                continue
        alone = LegalityTables(scop).are_legal(trees)
        assert LegalityTables(scop).are_legal(trees, reference.tree) == alone
        assert LegalityTables(scop).are_legal(trees[::-1], reference.tree)[::-1] == alone
        again = LegalityTables(scop)
        assert [again.are_legal([tree], reference.tree)[0] for tree in trees] == alone


def test_verdicts_are_forgotten_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    scop = scop_named("gemm")
    trees = some_trees(scop, np.random.default_rng(4), 20)
    expected = LegalityTables(scop).are_legal(trees)
    monkeypatch.setattr(legality, "_MOST_VERDICTS", 5)
    tables = LegalityTables(scop)
    for _ in range(3):
        assert [tables.are_legal([tree])[0] for tree in trees] == expected
        assert tables.are_legal(trees, trees[0]) == expected
    assert tables._count < 100
    assert tables.are_legal([]) == []


# Hulls that are not exact

STRIDED = {
    # Pairs for even i only, and vertices at halves.
    "halves": c_function(
        "for (int i = 0; i < n; i++)\nS: A[2 * i] = i;\n"
        "for (int k = 0; k < n; k++)\nT: B[k] = A[3 * k];",
        "int n, double A[3 * n], double B[n]",
    ),
    "every other one": c_function(
        "for (int i = 0; i < n; i++) {\nS: A[2 * i + 1] = i;\nT: B[i] = A[i];\n}",
        "int n, double A[2 * n + 1], double B[n]",
    ),
    "steps": c_function(
        "for (int i = 1; i < n; i += 3) {\nS: A[i] = i;\n"
        "  for (int j = n - 1; j > i; j -= 2)\nT:    B[j] = B[j] + A[i] * A[j];\n}",
        "int n, double A[n], double B[n]",
    ),
    "a triangle": c_function(
        "for (int i = 0; i < n; i++)\n  for (int j = 0; 2 * j <= i; j++)\n"
        "S:    A[i - 2 * j] += i;\n"
        "for (int k = 0; k < n; k++)\nT: B[k] = A[k];",
        "int n, double A[n], double B[n]",
    ),
}


@pytest.mark.parametrize("is_hard", [False, True])
@pytest.mark.parametrize("name", STRIDED)
def test_strides(name: str, is_hard: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the hull is too hard to find there is the polyhedron around it, and isl decides."""
    scop = parse_text(STRIDED[name])
    if is_hard:
        monkeypatch.setattr(farkas, "_MOST_OPERATIONS", 1)
    asked = []
    ask_isl = LegalityTables._ask_isl
    monkeypatch.setattr(
        LegalityTables,
        "_ask_isl",
        lambda self, schedule: asked.append(schedule) or ask_isl(self, schedule),
    )
    tables = LegalityTables(scop)
    assert any(not table.is_exact for table in tables.tables) == is_hard
    trees = some_trees(scop, np.random.default_rng(5), 120)
    legal = check_trees(scop, tables, trees)
    assert 10 < legal < len(trees) - 10
    assert bool(asked) == is_hard


def test_a_hull_that_is_not_exact_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """S writes the even elements, T reads A[3k] for 0 <= k < n, so only even k have pairs.

    The polyhedron has pairs at 2i = 3k with k = 1 and i = 3/2 too. A schedule that is in order but
    for those is legal, which isl knows.
    """
    scop = parse_text(STRIDED["halves"])
    monkeypatch.setattr(farkas, "_MOST_OPERATIONS", 1)
    tables = LegalityTables(scop)
    wrong = 0
    generator = np.random.default_rng(6)
    trees = [loop_tree_of(random_schedule(scop, generator, 1)) for _ in range(300)]
    monkeypatch.setattr(LegalityTables, "_ask_isl", lambda self, schedule: False)
    by_generators = tables.are_legal(trees)
    for tree, verdict in zip(trees, by_generators, strict=True):
        exact = find_violation(scop, tree.schedule) is None
        assert exact or not verdict  # what passes is legal
        wrong += exact and not verdict
    assert LegalityTables(scop).tables[0].is_exact is False
    assert wrong == sum(find_violation(scop, tree.schedule) is None for tree in trees) - sum(
        by_generators
    )


@pytest.mark.parametrize("name", ["gemm", "jacobi-1d", "random:2"])
def test_dependences_with_too_many_generators(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Isl decides where there are no generators at all."""
    scop = scop_named(name)
    monkeypatch.setattr(farkas, "_MOST_GENERATORS", 1)
    tables = LegalityTables(scop)
    assert tables.tables
    assert not any(table.is_exact for table in tables.tables)
    check_trees(scop, tables, some_trees(scop, np.random.default_rng(8), 12))
    tree = loop_tree_of(original_schedule(scop))
    assert set(tables.band_positions(tree)) == {loop.name for loop in tree.loops}


MANY = c_function(
    "for (int i = 0; i < 3000000; i++)\nS: A[i] = i;\n"
    "for (int i = 0; i < 3000000; i++)\nT: B[i] = A[i];",
    "double A[3000000], double B[3000000]",
)


@pytest.mark.parametrize("limit", [legality._LARGEST_GENERATOR, 2**21])
def test_large_generators(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vertices such as 2,999,999 are asked of isl where the generators prove nothing."""
    monkeypatch.setattr(legality, "_LARGEST_GENERATOR", limit)
    scop = parse_text(MANY)
    tables = LegalityTables(scop)
    (table,) = tables.tables
    assert not table.is_exact
    assert (abs(table.at_sink).max() > 2_000_000) == (limit > 2**21)
    texts = {
        "{ S[i] -> [0, i]; T[i] -> [1, i] }": True,
        "{ S[i] -> [i, 0]; T[i] -> [i, 1] }": True,
        "{ S[i] -> [i, 0]; T[i] -> [i + 1, 0] }": True,
        "{ S[i] -> [i, 0]; T[i] -> [i - 1, 0] }": False,
        "{ S[i] -> [-i, 0]; T[i] -> [i - 1, 0] }": False,
        "{ S[i] -> [1, i]; T[i] -> [0, i] }": False,
        "{ S[i] -> [i, 0]; T[i] -> [2999999, 1] }": True,
        "{ S[i] -> [i, 0]; T[i] -> [2999998, 1] }": False,
        "{ S[i] -> [i - 2999999]; T[i] -> [1] }": True,
    }
    trees = [loop_tree_of(parse_schedule(text, scop)) for text in texts]
    assert tables.are_legal(trees) == list(texts.values())
    assert [tables.are_legal([tree])[0] for tree in trees] == list(texts.values())


def test_large_rows() -> None:
    """Rows with numbers whose products would not fit 64 bits are isl's too."""
    scop = parse_text(Y_AX)
    texts = {
        "{ S[i] -> [0, i]; T[i, j] -> [1, 2147483647i + j] }": True,
        "{ S[i] -> [0, 2147483647i]; T[i, j] -> [0, 2147483647i + 1000000 + j] }": True,
        "{ S[i] -> [1, i]; T[i, j] -> [0, 2147483647i + j] }": False,
        "{ S[i] -> [0, i]; T[i, j] -> [1, 1048576i - j] }": False,
        "{ S[i] -> [0, i]; T[i, j] -> [1, 1048575i - j] }": False,
        "{ S[i] -> [0, i, 0]; T[i, j] -> [1, 1048575i, j] }": True,
    }
    trees = [loop_tree_of(parse_schedule(text, scop)) for text in texts]
    for reference in (None, loop_tree_of(original_schedule(scop))):
        assert LegalityTables(scop).are_legal(trees, reference) == list(texts.values())


# Bands


def positions_in(tree: Tree) -> list[int]:
    """Return the position of each loop of the code generator's tree in its band, in order."""
    match tree:
        case Band(_, members, child):
            return [*range(len(members)), *positions_in(child)]
        case SequenceNode(branches):
            return [place for branch in branches for place in positions_in(branch.child)]
        case Leaf():
            return []


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
def test_bands_are_those_of_the_code_generator(name: str) -> None:
    scop = scop_named(name)
    state = TransformProgram(scop).start()
    states = walk_states(state, np.random.default_rng(7), 4, is_tree_step)
    trees = [state.tree, states[len(states) // 2].tree, states[-1].tree]
    trees.append(loop_tree_of(isl_schedule(scop)))
    for tree in trees:
        positions = legality_tables(scop).band_positions(tree)
        assert list(positions) == [loop.name for loop in tree.loops]
        expected = positions_in(build_tree(LegalSchedule(scop, tree.schedule)))
        assert list(positions.values()) == expected, tree.text()


def test_the_band_of_a_skewed_stencil() -> None:
    """The docstring's example: t and i, and one band after ``skew i t 1``."""
    scop = parse_text(
        c_function(
            "for (int t = 0; t < m; t++)\n  for (int i = 1; i < n - 1; i++)\n"
            "S:    A[i] = A[i - 1] + A[i] + A[i + 1];",
            "int m, int n, double A[n]",
        )
    )
    tables = legality_tables(scop)
    apart = loop_tree_of(original_schedule(scop))
    assert tables.band_positions(apart) == {"L1": 0, "L2": 0}
    skewed = loop_tree_of(parse_schedule("{ S[t, i] -> [t, t + i] }", scop))
    assert tables.band_positions(skewed) == {"L1": 0, "L2": 1}
