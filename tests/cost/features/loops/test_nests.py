"""Loops and what they touch, against going through all instances one by one."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import BandMember, loop_path, loop_paths
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.cost.features.candidates.candidate_vector import statement_nests
from polygym.cost.features.loops.cache_lines import reference_footprint
from polygym.cost.features.loops.nests import StatementNest
from polygym.cost.features.statements.statement_work import StatementWork, work_of_statements
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.c_programs import kernel_scop
from tests.oracles.instances import points

MACHINE = Machine(vector_bits=512, registers=32)

WINDOW = """
void f(int n, int r, double O[n][n], double I[n + r][n], double K[r]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < r; k++)
S:      O[i][j] += I[i + k][j] * K[k];
#pragma endscop
}
"""


@dataclass(frozen=True)
class Walked:
    """What is found by going through a statement's instances: of every loop, the most there is."""

    lengths: list[int]
    inner: list[int]
    elements: dict[str, list[int]]


def walked(
    scop: Scop,
    work: StatementWork,
    members: tuple[BandMember, ...],
    names: tuple[str, ...],
    sizes: dict[str, int],
) -> Walked:
    """Go through all instances; ``names`` are the parameters of the rows."""
    given = [sizes[name] for name in names]

    def value(member: BandMember, point: tuple[int, ...]) -> int:
        total = 0
        for part in member.terms:
            row = part.rows[0]
            number = row.constant + int(np.dot(row.parameters, given))
            total += (number + int(np.dot(row.iterators, point))) // part.size
        return total

    count = len(members)
    values: list[dict[tuple[int, ...], set[int]]] = [defaultdict(set) for _ in range(count)]
    inner: list[dict[tuple[int, ...], int]] = [defaultdict(int) for _ in range(count)]
    elements: dict[str, list[dict[tuple[int, ...], set[tuple[int, ...]]]]] = defaultdict(
        lambda: [defaultdict(set) for _ in range(count + 1)]
    )
    for point in points(scop.statement(work.name).domain, sizes):
        key = tuple(value(member, point) for member in members)
        for place in range(count):
            values[place][key[:place]].add(key[place])
            inner[place][key[:place]] += 1
        for touch in work.accesses:
            at = tuple(
                int(np.dot(row, point)) + offset
                for row, offset in zip(touch.subscripts, touch.offsets, strict=True)
            )
            group = f"{touch.array}{touch.subscripts}"
            for place in range(count + 1):
                elements[group][place][key[:place]].add(at)
    return Walked(
        [max(map(len, value.values())) for value in values],
        [max(counts.values()) for counts in inner],
        {name: [max(map(len, sets.values())) for sets in of] for name, of in elements.items()},
    )


def looked_at(
    scop: Scop, mapping: Mapping, sizes: dict[str, int], *, by_isl: bool
) -> list[tuple[StatementNest, Walked]]:
    """Return the nests of a program's statements, and what going through them finds."""
    schedule = isl_schedule(scop) if by_isl else original_schedule(scop)
    legal = LegalSchedule(scop, schedule)
    tree = plan_tree(build_tree(legal), legal, mapping, MACHINE, sizes)
    works = work_of_statements(scop, sizes)
    # Of a statement with loops of its own in free tiles, these.
    around = dict(loop_paths(tree, tuple(work.name for work in works)))
    return [
        (nest, walked(scop, work, around[work.name], schedule.parameters, sizes))
        for work, nest in zip(works, statement_nests(legal, tree, sizes), strict=True)
    ]


def assert_same(nest: StatementNest, truth: Walked) -> None:
    assert nest.lengths.tolist() == truth.lengths
    assert nest.inner_instances.tolist() == truth.inner
    groups: dict[str, np.ndarray] = {}
    for reference, (name, _) in zip(nest.references, truth.elements.items(), strict=True):
        groups[name] = reference_footprint(nest, reference)[0]
    for name, counts in truth.elements.items():
        assert groups[name].tolist() == counts, name


@pytest.mark.rotates
@pytest.mark.parametrize("by_isl", [False, True])
@pytest.mark.parametrize(
    "text", ["sequential", "tile=4", "tile=3x4x2", "tile=2 outer_tile=2 threads=2", "default"]
)
@pytest.mark.parametrize("name", ["gemm", "mvt", "atax", "doitgen", "2mm"])
def test_boxes_are_exact(name: str, text: str, by_isl: bool) -> None:
    """Every subscript follows a loop of its own: lengths and elements are those that there are."""
    scop = kernel_scop(name)
    sizes = {p.name: 5 + place % 3 for place, p in enumerate(scop.parameters)}
    for nest, truth in looked_at(scop, parse_mapping(text), sizes, by_isl=by_isl):
        assert_same(nest, truth)


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("tile=8", [1000, 800, 640, 512, 64, 8]),
        ("tile=4", [1000, 400, 160, 64, 16, 4]),
        ("tile=16", [1000, 1000, 1000, 1000, 100, 10]),
        ("tile=3 outer_tile=2", None),
        ("tile=4x3x7 outer_tile=2", None),
        ("tile=8x3x6 threads=2", None),
    ],
)
def test_tiles_that_do_not_divide(text: str, inner: list[int] | None) -> None:
    """A product of matrices of 10: both loops over a row have 10 iterations, not two times 8."""
    scop = kernel_scop("gemm")
    mapping = parse_mapping(f"{text} unroll_jam=1 vector_bits=off scalar_replacement=off")
    sizes = dict.fromkeys(("ni", "nj", "nk"), 10)
    for nest, truth in looked_at(scop, mapping, sizes, by_isl=False):
        assert nest.box.tolist() == truth.inner
        if inner is not None and len(inner) == len(truth.inner):
            assert truth.inner == inner


@pytest.mark.parametrize("text", ["sequential", "tile=4x2x2", "default"])
def test_windows_are_exact(text: str) -> None:
    """Two loops move one subscript: I[i + k] has n + r - 1 rows."""
    scop = parse_text(WINDOW)
    for nest, truth in looked_at(scop, parse_mapping(text), {"n": 8, "r": 4}, by_isl=False):
        assert_same(nest, truth)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["trmm", "syrk", "cholesky", "trisolv", "jacobi-1d", "seidel-2d", "lu"]),
    st.sampled_from(["sequential", "tile=3", "tile=4x2", "default threads=2"]),
    st.integers(4, 8),
)
def test_triangles_and_stencils_are_bounded(name: str, text: str, size: int) -> None:
    """No loop is longer, and none touches more, than was said; what all touch is no less."""
    scop = kernel_scop(name)
    sizes = {p.name: size for p in scop.parameters}
    mapping = parse_mapping(f"{text} diamond=off" if text != "sequential" else text)
    for nest, truth in looked_at(scop, mapping, sizes, by_isl=name != "cholesky"):
        assert (nest.lengths >= truth.lengths).all()
        if len(nest.lengths):
            assert nest.inner_instances[0] == nest.work.instances
        box = np.cumprod(nest.lengths[::-1])[::-1]
        assert (nest.inner_instances >= truth.inner).all()
        assert (nest.inner_instances <= box).all()
        for reference, counts in zip(nest.references, truth.elements.values(), strict=True):
            said = reference_footprint(nest, reference)[0]
            assert (said >= counts).all()
            assert said[0] == counts[0]


def test_a_triangle_a_star_and_a_stride_by_hand() -> None:
    """All that is touched is counted; in the longest execution of an inner loop, bounded."""
    text = """
    void f(int n, double x[n], double A[n][n], double B[n][n], double O[n], double I[6 * n]) {
    #pragma scop
      for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
    T:    x[i] += A[i][j];
      for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
    U:    B[i][j] = A[i][j] + A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1];
      for (int i = 0; i < n; i++)
        for (int j = 0; j < 3; j++)
    V:    O[i] += I[4 * i + 2 * j];
    #pragma endscop
    }
    """
    triangle, star, stride = (
        {
            reference.array: reference_footprint(nest, reference)[0].tolist()
            for reference in nest.references
        }
        | {"inner": nest.inner_instances.tolist()}
        for nest, _ in looked_at(
            parse_text(text), parse_mapping("sequential"), {"n": 8}, by_isl=False
        )
    )
    assert triangle == {"x": [8, 1, 1], "A": [36, 8, 1], "inner": [36, 8]}
    assert star == {"B": [36, 6, 1], "A": [60, 24, 5], "inner": [36, 6]}
    assert stride == {"O": [8, 1, 1], "I": [17, 3, 1], "inner": [24, 3]}


STEPS = {
    "loops with steps": """
      for (int i = 1; i < n; i += 2)
        for (int j = 0; j < n; j += 3)
    S:    A[i][j] += B[2 * j][i];
    """,
    "downwards": """
      for (int i = n - 1; i >= 0; i -= 3)
        for (int j = n - 1; j > 0; j--)
    S:    A[i][j] += B[i][2 * j];
    """,
    "red and black": """
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
          if ((i + j) % 2 == 0)
    S:      A[i][j] += B[i][2 * j + 1];
    """,
    "every other element, twice": """
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
    S:    A[i][2 * j] += B[i][2 * j] + B[i][2 * j + 2];
    """,
    "windows with gaps": """
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
          for (int k = 0; k < 3; k++)
    S:      A[i][j] += B[i][4 * j + 2 * k];
    """,
}


@pytest.mark.rotates
@pytest.mark.parametrize("text", ["sequential", "tile=6x12", "tile=4x5x2"])
@pytest.mark.parametrize("what", STEPS)
def test_what_has_steps(what: str, text: str) -> None:
    """Loops are as long as they are, and what they leave out is not touched."""
    scop = parse_text(
        f"""
        void f(int n, double A[n][2 * n], double B[2 * n][4 * n + 4]) {{
        #pragma scop
        {STEPS[what]}
        #pragma endscop
        }}
        """
    )
    whole = parse_mapping(text)
    for nest, truth in looked_at(scop, whole, {"n": 13}, by_isl=False):
        if text == "sequential":
            assert nest.lengths.tolist() == truth.lengths
            if what != "red and black":  # whose rows are read and written, so twice as many may be
                assert_same(nest, truth)
        assert (nest.lengths >= truth.lengths).all()
        for reference, counts in zip(nest.references, truth.elements.values(), strict=True):
            said = reference_footprint(nest, reference)[0]
            assert (said >= counts).all()
            assert said[0] == counts[0]


def test_strides_of_loops_with_steps_by_hand() -> None:
    """One iteration of j += 3 moves A by three elements and B by six rows of 56."""
    scop = parse_text(
        f"""
        void f(int n, double A[n][2 * n], double B[2 * n][4 * n + 4]) {{
        #pragma scop
        {STEPS["loops with steps"]}
        #pragma endscop
        }}
        """
    )
    ((nest, _),) = looked_at(scop, parse_mapping("sequential"), {"n": 13}, by_isl=False)
    assert nest.lengths.tolist() == [6.0, 5.0]
    assert nest.inner_instances.tolist() == [30.0, 5.0]
    strides = {reference.array: reference.stride.tolist() for reference in nest.references}
    assert strides == {"A": [2 * 26.0, 3.0], "B": [2.0, 6 * 56.0]}


def test_rows_with_common_divisors_take_as_many_values_as_there_are() -> None:
    scop = kernel_scop("gemm")
    rows = "S0[i, j] -> [0, 2i, 3j, 0]; S1[i, k, j] -> [1, 2i, 3j, k]"
    schedule = parse_schedule(f"[ni, nj, nk] -> {{ {rows} }}", scop)
    legal, sizes = LegalSchedule(scop, schedule), {"ni": 9, "nj": 7, "nk": 5}
    for text in (
        "sequential",
        "tile=4 unroll_jam=1 vector_bits=off",
        "tile=2x5x3 scalar_replacement=off",
    ):
        tree = plan_tree(build_tree(legal), legal, parse_mapping(text), MACHINE, sizes)
        for work, nest in zip(
            work_of_statements(scop, sizes), statement_nests(legal, tree, sizes), strict=True
        ):
            members = loop_path(tree, work.name)
            truth = walked(scop, work, members, schedule.parameters, sizes)
            for length, there, member in zip(nest.lengths, truth.lengths, members, strict=True):
                assert length == there, f"{text}: {member}"
            if text == "sequential":
                moves = [
                    reference.access_strides
                    for reference in nest.references
                    if len(reference.access_strides)
                ]
                assert np.unique(np.concatenate(moves, axis=None)).tolist() == [0.0, 1.0]
