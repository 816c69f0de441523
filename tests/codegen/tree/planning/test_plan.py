"""Mapped trees: by brute force, whatever a mapping does to a schedule, no dependence is broken."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP as ALONE
from polygym.codegen.common.loop_annotation import (
    ParallelLoop,
    ScalarReplacement,
    UnrollAndJam,
    VectorLoop,
)
from polygym.codegen.pipeline import lower
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import (
    Band,
    Branch,
    Leaf,
    SequenceNode,
    Tree,
    without_annotations,
)
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.codegen.tree.printer import print_tree
from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping, parse_mapping
from polygym.mapping.sizes import Sizes
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.tc import define
from tests.c_programs import kernel_scop
from tests.codegen.mapped_programs import PROGRAMS, random_mapping, scop_of
from tests.codegen.tree.tree_members import members_of
from tests.oracles.mapped_trees import Run, check_tree
from tests.oracles.random_schedules import random_legal_schedule

SMALL, LARGE = Machine(), Machine(vector_bits=512, registers=32)
SIZE_AT_DEPTH = {1: 7, 2: 5, 3: 4}


def small_run(scop: Scop) -> Run:
    """Return a run whose sizes differ, small enough to look at all pairs."""
    size = SIZE_AT_DEPTH.get(max(statement.depth for statement in scop.statements), 3)
    return Run.of(scop, {p.name: size + k % 2 for k, p in enumerate(scop.parameters)})


def some_schedule(scop: Scop, generator: np.random.Generator) -> Schedule:
    match generator.integers(4):
        case 0:
            return original_schedule(scop)
        case 1:
            return isl_schedule(scop)
        case _:
            return random_legal_schedule(scop, generator, rows=int(generator.integers(1, 4)))


def planned(
    scop: Scop,
    schedule: Schedule,
    mapping: Mapping,
    machine: Machine = SMALL,
    sizes: Sizes | None = None,
) -> Tree:
    legal = LegalSchedule(scop, schedule)
    return plan_tree(build_tree(legal), legal, mapping, machine, sizes)


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
def test_random_mappings_keep_every_dependence(name: str) -> None:
    scop = scop_of(name)
    run = small_run(scop)
    for seed in range(3):
        generator = np.random.default_rng([seed, len(name)])
        schedule = some_schedule(scop, generator)
        mapping = replace(random_mapping(generator, scop), threads=2)
        sizes = run.sizes if generator.random() < 0.5 else None
        tree = planned(scop, schedule, mapping, LARGE if seed % 2 else SMALL, sizes)
        check_tree(tree, run, schedule.parameters)


@pytest.mark.parametrize("name", ["product", "jacobi", "lu", "statistics", "torus", "pairing"])
def test_the_oracle_notices_an_annotation_that_breaks_dependences(name: str) -> None:
    """Every member that is neither coincident nor a tile, made parallel, is found out."""
    scop = scop_of(name)
    run, schedule = small_run(scop), isl_schedule(scop)
    tree = planned(
        scop,
        schedule,
        parse_mapping("vector_bits=off tile=off scalar_replacement=off unroll_jam=1"),
    )
    waiting = [member for member in members_of(tree) if not member.coincident]
    assert waiting

    def spoiled(tree: Tree, victim: object) -> Tree:
        match tree:
            case Leaf():
                return tree
            case SequenceNode(branches):
                return SequenceNode(
                    tuple(Branch(b.statements, spoiled(b.child, victim)) for b in branches)
                )
            case Band(statements, members, child):
                changed = tuple(
                    replace(m, annotation=ParallelLoop(is_dynamic=True)) if m is victim else m
                    for m in members
                )
                return Band(statements, changed, spoiled(child, victim))

    check_tree(tree, run, schedule.parameters)
    for member in waiting:
        with pytest.raises(AssertionError, match="run together"):
            check_tree(spoiled(tree, member), run, schedule.parameters)


def test_without_vectors_and_copies_the_innermost_loops_stay() -> None:
    """A sum moved innermost would take LLVM its vectors: 12 times slower in a product."""
    scop = kernel_scop("gemm")
    legal = LegalSchedule(scop, original_schedule(scop))
    tree = build_tree(legal)
    for text in ("pack=on", "scalar_replacement=on", "separate=on", "wavefront=on", "sink=on"):
        mapped = plan_tree(tree, legal, parse_mapping(f"sequential {text}"), SMALL)
        assert without_annotations(mapped) == without_annotations(tree)
    held = plan_tree(tree, legal, parse_mapping("sequential scalar_replacement=on"), SMALL)
    jammed = "sequential scalar_replacement=on unroll_jam=4"
    assert held == tree  # the innermost loop sums nothing up
    assert without_annotations(plan_tree(tree, legal, parse_mapping(jammed), SMALL)) != tree


def test_the_sequential_mapping_leaves_the_tree_alone() -> None:
    for name in ("product", "jacobi", "statistics"):
        scop = scop_of(name)
        legal = LegalSchedule(scop, isl_schedule(scop))
        tree = build_tree(legal)
        assert plan_tree(tree, legal, SEQUENTIAL_MAPPING, SMALL) is tree
        for text in ("threads=4", "reassociate=on", "threads=2 reassociate=on"):
            assert plan_tree(tree, legal, parse_mapping(f"sequential {text}"), SMALL) is tree


@pytest.mark.parametrize("name", ["product", "jacobi", "statistics", "columns"])
def test_threads_alone_change_no_order(name: str) -> None:
    scop = scop_of(name)
    run, schedule = small_run(scop), original_schedule(scop)
    legal = LegalSchedule(scop, schedule)
    tree = build_tree(legal)
    shared = plan_tree(tree, legal, parse_mapping("sequential threads=2 parallel=dynamic"), SMALL)
    assert without_annotations(shared) == without_annotations(tree)
    annotations = {type(member.annotation) for member in members_of(shared)}
    assert ParallelLoop in annotations
    assert not annotations & {UnrollAndJam, VectorLoop, ScalarReplacement}
    check_tree(shared, run, schedule.parameters)


GOLDENS = [
    ("product", "original", "tile=32 unroll_jam=4 vector_copies=2 threads=2"),
    ("product", "isl", "default"),
    ("product", "original", "sink=off"),
    ("jacobi", "isl", "tile=4x8 threads=2 parallel=static"),
    ("jacobi", "isl", "tile=4x8 threads=2 diamond=off"),
    ("jacobi", "isl", "tile=4x8 threads=2 wavefront=off"),
    ("seidel", "isl", "tile=4 outer_tile=2 threads=2 diamond=off"),
    ("lu", "isl", "threads=2"),
    ("recurrence", "original", "threads=2"),
    ("convolution", "isl", "tile=off vector_bits=128"),
    ("convolution", "isl", "threads=2"),
    ("contraction", "isl", "threads=2"),
    ("contraction", "original", "tile=16x24x4 pack=off"),
    ("columns", "isl", "default"),
    ("pairing", "isl", "threads=2"),
    ("pairing", "isl", "tile=4x8 diamond=off threads=1"),
    ("product", "isl", "order=2 threads=2"),
    ("product", "original", "order=1x3x2 sink=off"),
    ("jacobi", "isl", "order=3x2 threads=2"),
    ("contraction", "isl", "order=1 threads=2"),
]


@pytest.mark.parametrize(("name", "which", "text"), GOLDENS)
def test_goldens(name: str, which: str, text: str, golden: Callable[[str, str], None]) -> None:
    scop = scop_of(name)
    schedule = original_schedule(scop) if which == "original" else isl_schedule(scop)
    legal = LegalSchedule(scop, schedule)
    before = build_tree(legal)
    after = plan_tree(before, legal, parse_mapping(text), SMALL)
    check_tree(after, small_run(scop), schedule.parameters)
    words = text.replace("=", "").replace(" ", "-")
    golden(
        f"mapped_trees/{name}-{which}-{words}.txt",
        f"{schedule}\n\n{print_tree(before, scop, schedule)}\n{text}\n\n"
        f"{print_tree(after, scop, schedule)}",
    )


@pytest.mark.parametrize("name", ["grouped", "triangular_sum", "contraction"])
def test_goldens_of_sums_at_known_sizes(name: str, golden: Callable[[str, str], None]) -> None:
    scop = scop_of(name)
    run, schedule = small_run(scop), isl_schedule(scop)
    legal = LegalSchedule(scop, schedule)
    before = build_tree(legal)
    after = plan_tree(before, legal, parse_mapping("threads=2"), SMALL, run.sizes)
    check_tree(after, run, schedule.parameters)
    sizes = " ".join(f"{name}={value}" for name, value in run.sizes.items())
    golden(
        f"mapped_trees/{name}-isl-sizes.txt",
        f"{schedule}\n\n{print_tree(before, scop, schedule)}\nthreads=2 {sizes}\n\n"
        f"{print_tree(after, scop, schedule)}",
    )


PRODUCT = parse_text(
    "void f(int n, double C[n][n], double A[n][n], double B[n][n]) {\n#pragma scop\n"
    "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)\n"
    "S: C[i][j] += A[i][k] * B[k][j];\n#pragma endscop\n}\n"
)


def annotations(tree: Tree) -> list[object]:
    return [member.annotation for member in members_of(tree) if member.annotation != ALONE]


BOTH = parse_text(
    "void f(int n, double C[n][n], double A[n][n], double B[n][n], double D[n][n]) {\n"
    "#pragma scop\n"
    "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)\n"
    "S: C[i][j] += A[i][k] * B[k][j] + B[i][k] * D[k][j];\n#pragma endscop\n}\n"
)


def test_sums_of_two_products_have_registers_for_the_operands_of_both() -> None:
    loops = annotations(planned(BOTH, original_schedule(BOTH), parse_mapping("tile=off"), LARGE))
    assert loops == [UnrollAndJam(8), VectorLoop(512, 2), ScalarReplacement(frozenset({"S"}))]
    loops = annotations(planned(BOTH, original_schedule(BOTH), parse_mapping("tile=off"), SMALL))
    assert loops == [UnrollAndJam(4), VectorLoop(256, 2), ScalarReplacement(frozenset({"S"}))]
    known = planned(BOTH, original_schedule(BOTH), parse_mapping("tile=off"), LARGE, {"n": 40})
    (jam, vector, _) = annotations(known)
    assert isinstance(jam, UnrollAndJam)
    assert isinstance(vector, VectorLoop)
    assert jam.copies * vector.count + 2 * (vector.count + 1) + 1 <= LARGE.registers


def test_a_product_gets_vectors_a_held_sum_and_copies() -> None:
    scop = PRODUCT
    loops = annotations(planned(scop, original_schedule(scop), parse_mapping("tile=off"), LARGE))
    assert loops == [UnrollAndJam(8), VectorLoop(512, 3), ScalarReplacement(frozenset({"S"}))]
    loops = annotations(
        planned(
            scop,
            original_schedule(scop),
            parse_mapping("tile=off vector_bits=128 unroll_jam=3 vector_copies=1"),
        )
    )
    assert loops == [UnrollAndJam(3), VectorLoop(128, 1), ScalarReplacement(frozenset({"S"}))]


LOOKUP = "def f(float(E, D) T, int(B, L) I) -> (Z) { Z(b, d) +=! T(I(b, l), d) }"
MATRICES = "def f(float(B, L) A, float(L, D) T) -> (Z) { Z(b, d) +=! A(b, l) * T(l, d) }"


@pytest.mark.parametrize(
    ("text", "columns", "vectors"),
    [(LOOKUP, 64, 4), (LOOKUP, 48, 3), (LOOKUP, 20, 2), (MATRICES, 64, 2)],
)
def test_sums_that_share_nothing_run_across_the_whole_line(
    text: str, columns: int, vectors: int
) -> None:
    """Every row of a lookup sums up lines of its own; those of a product need the same ones."""
    scop = define(text).scop()
    sizes = {"E": 1000, "D": columns, "B": 128, "L": 50}
    tree = planned(scop, isl_schedule(scop), parse_mapping("tile=off"), LARGE, sizes)
    *_, summed = (
        annotation.count for annotation in annotations(tree) if isinstance(annotation, VectorLoop)
    )
    assert summed == vectors


@pytest.mark.parametrize(("rows", "columns", "whole"), [(100, 9000, True), (100, 900, False)])
def test_few_rows_stay_together(rows: int, columns: int, whole: bool) -> None:
    scop = define("def f(float(M, K) A, float(N, K) B) -> (C) { C(m, n) +=! A(m, k) * B(n, k) }")
    schedule, taken = isl_schedule(scop.scop()), parse_mapping("threads=2")
    sizes = {"M": rows, "K": 500, "N": columns}
    tree = planned(scop.scop(), schedule, taken, LARGE, sizes)
    first = max(part.size for part in next(members_of(tree)).terms)
    assert (first >= rows) is whole


TRIANGLE = """
void f(int n, double C[n][n], double A[n][n], double B[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      for (int k = 0; k < n; k++)
        C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
"""


@pytest.mark.parametrize(
    ("end", "threads", "rows"),
    [("n", 1, 200), ("n", 2, 200), ("n", 4, 104), ("i + 1", 1, 200), ("i + 1", 2, 64)],
)
def test_a_product_has_large_tiles_of_rows_if_all_have_the_same_work(
    end: str, threads: int, rows: int
) -> None:
    scop = parse_text(TRIANGLE.replace("j <= i", f"j < {end}"))
    mapping = parse_mapping(f"threads={threads}")
    first = next(members_of(planned(scop, original_schedule(scop), mapping, LARGE, {"n": 800})))
    assert {part.size for part in first.terms} == {rows}
    unknown = next(members_of(planned(scop, original_schedule(scop), mapping, LARGE)))
    assert {part.size for part in unknown.terms} == {64}


def test_hold_off_is_honoured() -> None:
    loops = annotations(
        planned(
            PRODUCT,
            original_schedule(PRODUCT),
            parse_mapping("vector_bits=off scalar_replacement=off"),
        )
    )
    assert not any(isinstance(annotation, VectorLoop | ScalarReplacement) for annotation in loops)


@pytest.mark.parametrize("text", ["threads=1", "threads=2 parallel=off"])
def test_nothing_is_parallel_unless_asked_for(text: str) -> None:
    for name in ("product", "jacobi", "statistics"):
        tree = planned(scop_of(name), isl_schedule(scop_of(name)), parse_mapping(text))
        assert not any(isinstance(annotation, ParallelLoop) for annotation in annotations(tree))


@pytest.mark.rotates
@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"stencil_3d", "time_tiled"}))
def test_parallel_loops_are_not_nested(name: str) -> None:
    def deepest(tree: Tree) -> int:
        match tree:
            case Leaf():
                return 0
            case SequenceNode(branches):
                return max(deepest(branch.child) for branch in branches)
            case Band(_, members, child):
                return sum(isinstance(m.annotation, ParallelLoop) for m in members) + deepest(child)

    scop = scop_of(name)
    assert deepest(planned(scop, isl_schedule(scop), parse_mapping("threads=2 tile=4"))) <= 1


TWO_NESTS = """
void f(int n, double A[n][n], double B[n][n], double C[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      B[i][j] = A[j][i] * 2.0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        C[i][j] += B[i][k] * A[k][j];
#pragma endscop
}
"""


@pytest.mark.parametrize(
    "words",
    [
        "tile=8x4", "tile=off", "tile=8 outer_tile=4", "parallel=off", "vector_bits=128",
        "unroll_jam=2 vector_copies=3", "sink=off tile=2x3x4", "wavefront=off diamond=off",
    ],
)  # fmt: skip
def test_what_is_said_of_a_nest_is_done_there_alone(words: str) -> None:
    scop = parse_text(TWO_NESTS)
    first, second = (statement.name for statement in scop.statements)
    before = "threads=2 tile=16"

    def branches(text: str) -> tuple[Tree, ...]:
        tree = planned(scop, original_schedule(scop), parse_mapping(text))
        assert isinstance(tree, SequenceNode)
        return tuple(branch.child for branch in tree.branches)

    usual, whole = branches(before), branches(f"{before} {words}")
    for place, name in enumerate((first, second)):
        text = " ".join([before, *(f"{name}:{word}" for word in words.split())])
        alone = branches(text)
        assert alone[place] == whole[place]
        assert alone[1 - place] == usual[1 - place]


def test_one_nest_may_be_named_by_any_of_its_statements() -> None:
    scop = scop_of("product")
    schedule = original_schedule(scop)
    whole = planned(scop, schedule, parse_mapping("threads=2 tile=5 unroll_jam=2"))
    for statement in scop.statements:
        words = f"threads=2 {statement.name}:tile=5 {statement.name}:unroll_jam=2"
        assert planned(scop, schedule, parse_mapping(words)) == whole


def test_statements_that_there_are_not_are_refused() -> None:
    scop = parse_text(TWO_NESTS)
    legal = LegalSchedule(scop, original_schedule(scop))
    with pytest.raises(InputError, match=r"expected statements of f, .*, found Q, R"):
        lower(legal, parse_mapping("R:tile=4 Q:tile=4"))
