"""Trees of loops: nodes where the planned tree has loops, rows that no name or order changes."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from polygym.codegen.tree.ir import Band, Branch, Leaf, Tree, loop_path
from polygym.codegen.tree.ir import SequenceNode as Branches
from polygym.cost.features.candidates.candidate_vector import CandidateFeatures, candidate_features
from polygym.cost.features.candidates.loop_tree import (
    MAX_NODES,
    NODE_COLUMNS,
    LoopForest,
    LoopTree,
    build_loop_tree,
)
from polygym.cost.features.candidates.nest_vectors import NEST_COLUMNS
from polygym.cost.features.loops.column_names import CONTEXT_COLUMNS, context_rows
from polygym.frontend.c import parse_text
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs.generate import generate_source
from tests.c_programs import kernel_scop

MACHINE = Machine(vector_bits=512, registers=32)
MAPPINGS = ("sequential", "default threads=2", "tile=8x16x4 unroll_jam=2")
LEAF = len(CONTEXT_COLUMNS)


def of(text: str, mapping: str, *, isl: bool = True) -> CandidateFeatures:
    scop = parse_text(text)
    legal = LegalSchedule(scop, isl_schedule(scop) if isl else original_schedule(scop))
    sizes = {p.name: 60 + 7 * place for place, p in enumerate(scop.parameters)}
    return candidate_features(legal, parse_mapping(mapping), sizes, MACHINE)


@cache
def legal_of(name: str) -> LegalSchedule:
    scop = kernel_scop(name)
    return LegalSchedule(scop, original_schedule(scop))


def of_kernel(name: str, mapping: str) -> CandidateFeatures:
    legal = legal_of(name)
    sizes = {p.name: 40 + place for place, p in enumerate(legal.scop.parameters)}
    return candidate_features(legal, parse_mapping(mapping), sizes, MACHINE)


def written(tree: LoopTree) -> object:
    """Return a tree as nested tuples in which the order of children says nothing."""

    def below(parent: int) -> tuple[object, ...]:
        result = [
            (tuple(np.round(tree.rows[node], 4).tolist()), below(node))
            for node in range(len(tree))
            if tree.parents[node] == parent
        ]
        return tuple(sorted(result, key=repr))

    return below(-1)


def loops_of(tree: Tree) -> int:
    """Return how many loops a planned tree has."""
    match tree:
        case Leaf():
            return 0
        case Band(_, members, child):
            return len(members) + loops_of(child)
        case Branches(branches):
            return sum(loops_of(branch.child) for branch in branches)


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("name", ["gemm", "lu", "fdtd-2d", "durbin"])
def test_nodes_are_the_loops_and_the_statements(name: str, mapping: str) -> None:
    features = of_kernel(name, mapping)
    tree = features.loop_tree
    is_leaf = tree.rows[:, LEAF] == 1
    assert is_leaf.sum() == len(features.statements)
    assert (~is_leaf).sum() == loops_of(features.tree)
    assert np.isfinite(tree.rows).all()
    assert tree.rows.shape == (len(tree), len(NODE_COLUMNS))
    for node, (parent, level) in enumerate(zip(tree.parents, tree.levels, strict=True)):
        assert -1 <= parent < node
        assert level == (0 if parent < 0 else tree.levels[parent] + 1)
        assert parent < 0 or not is_leaf[parent]
    assert not tree.rows[is_leaf][:, :LEAF].any()
    assert not tree.rows[~is_leaf][:, LEAF:].any()


@pytest.mark.parametrize("name", ["gemm", "fdtd-2d", "durbin"])
def test_a_loop_has_the_context_of_the_heaviest_statement_under_it(name: str) -> None:
    features = of_kernel(name, "default threads=2")
    tree = features.loop_tree
    cycles = NEST_COLUMNS.index("cycles")
    under: dict[int, list[int]] = {}
    for node in np.flatnonzero(tree.rows[:, LEAF] == 1):
        parent = tree.parents[node]
        while parent >= 0:
            under.setdefault(int(parent), []).append(int(node))
            parent = tree.parents[parent]
    whole = {
        np.float32(statement_leaf.nest_columns).tobytes(): context_rows(
            statement_leaf.footprint
        ).astype(np.float32)
        for statement_leaf in features.statements
    }
    assert under
    for loop, leaves in under.items():
        most = max(tree.rows[leaf, LEAF + 1 + cycles] for leaf in leaves)
        candidates = [
            whole[tree.rows[leaf, LEAF + 1 :].tobytes()][tree.levels[loop]][:11]
            for leaf in leaves
            if tree.rows[leaf, LEAF + 1 + cycles] == most
        ]
        assert any(np.array_equal(tree.rows[loop, :11], array) for array in candidates)
    heaviest = features.heaviest_footprint.nest.lengths
    first = tree.rows[: len(heaviest), 0]
    np.testing.assert_allclose(first, np.log2(1 + heaviest), rtol=1e-6)


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("seed", [0, 3])
def test_names_say_nothing(seed: int, mapping: str) -> None:
    text = generate_source(seed)
    other = re.sub(r"\b([A-HX-Z]\d*)\b(?=\[)", r"array_\1", text)
    other = re.sub(r"\b([ijkl]\d*)\b", r"counter_\1", other)
    assert other != text
    assert written(of(text, mapping).loop_tree) == written(of(other, mapping).loop_tree)


TWO = """void f(int n, int m, {arrays}) {{
#pragma scop
  for (int i = 0; i < n; i++) {{
{inner}
  }}
{outer}
#pragma endscop
}}"""


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_the_order_of_statements_and_arrays_says_nothing(mapping: str) -> None:
    """Two statements that do not depend on each other stand in either order, in a loop or out."""
    arrays = ["double A[n][m]", "double B[n][m]", "double C[m][n]", "double x[n]", "double y[n]"]
    inner = ["    x[i] = 2 * x[i];", "    for (int j = 0; j < m; j++) A[i][j] = B[i][j] + C[j][i];"]
    outer = [
        "  for (int k = 0; k < m; k++) for (int l = 0; l < n; l++) C[k][l] = C[k][l] + 1;",
        "  for (int k = 0; k < n; k++) y[k] = y[k] * y[k];",
    ]
    loop_trees = [
        of(
            TWO.format(
                arrays=", ".join(arrays[::step]),
                inner="\n".join(inner[::step]),
                outer="\n".join(outer[::step]),
            ),
            mapping,
            isl=False,
        ).loop_tree
        for step in (1, -1)
    ]
    assert len(loop_trees[0]) >= 8
    assert written(loop_trees[0]) == written(loop_trees[1])


def test_factors_in_another_order_make_the_same_rows() -> None:
    """Arrays with as many accesses and elements: what they move by tells them apart."""
    text = (
        "void f(int n, double A[n][n], double B[n][n], double C[n][n]) {{\n#pragma scop\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = {};\n"
        "#pragma endscop\n}}"
    )
    first, second = (
        of(text.format(literal), "sequential").loop_tree
        for literal in ("B[i][j] * C[j][i]", "C[j][i] * B[i][j]")
    )
    assert written(first) == written(second)


def test_of_large_trees_the_heaviest_statements_are_kept() -> None:
    """Sixty copies of a product, each with its three loops, in any order of their cycles."""
    whole = of_kernel("gemm", "sequential")
    leaf = max(
        whole.statements, key=lambda statement_leaf: len(statement_leaf.footprint.nest.lengths)
    )
    members = loop_path(whole.tree, leaf.name)
    cycles = NEST_COLUMNS.index("cycles")
    statements, branches = [], []
    for place in np.random.default_rng(0).permutation(60):
        knowledge = leaf.nest_columns.copy()
        knowledge[cycles] = place
        statements.append(replace(leaf, name=f"S{place}", nest_columns=knowledge))
        branches.append(Branch((f"S{place}",), Band((f"S{place}",), members, Leaf())))
    loop_tree = build_loop_tree(Branches(tuple(branches)), statements)
    assert len(loop_tree) == MAX_NODES == 128
    kept = loop_tree.rows[loop_tree.rows[:, LEAF] == 1][:, LEAF + 1 + cycles]
    assert kept.tolist() == list(range(59, 59 - 32, -1))


def test_a_forest_gives_back_its_trees() -> None:
    trees = [of_kernel(name, "sequential").loop_tree for name in ("gemm", "durbin", "lu")]
    forest = LoopForest.of(trees)
    assert len(forest) == 3
    chosen = forest[np.array([2, 0, 2])]
    whole = LoopForest.of([trees[2], trees[0], trees[2]])
    for loop_tree, other in (
        (chosen.rows, whole.rows),
        (chosen.parents, whole.parents),
        (chosen.levels, whole.levels),
        (chosen.starts, whole.starts),
    ):
        np.testing.assert_array_equal(loop_tree, other)
    assert chosen.candidates.tolist() == [
        place for place, tree in enumerate((trees[2], trees[0], trees[2])) for _ in range(len(tree))
    ]
    assert len(LoopForest.of([])) == 0
    assert len(forest[np.zeros(0, dtype=np.int64)]) == 0
