"""Lines of memory that loops touch, against laying out arrays and counting lines one by one."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polygym.cost.features.candidates.candidate_vector import candidate_features
from polygym.cost.features.loops.cache_lines import LINE_BYTES, reference_footprint
from polygym.cost.features.loops.footprints import StackedLoops, stacked_footprints
from polygym.cost.features.loops.nests import ArrayReference, StatementNest
from polygym.cost.features.loops.stacked_statements import StackedReferences
from polygym.frontend.c import parse_text
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule

MACHINE = Machine(vector_bits=512, registers=32)
SIZES = {"float": 4, "double": 8}


def nest_of(text: str) -> StatementNest:
    """Return the loops of a program of one statement."""
    scop = parse_text(f"void f({text}\n#pragma endscop\n}}\n")
    legal = LegalSchedule(scop, original_schedule(scop))
    (nest,) = candidate_features(legal, parse_mapping("sequential"), {}, MACHINE).nests
    return nest


def reference_of(nest: StatementNest, array: str) -> ArrayReference:
    (reference,) = (
        array_reference for array_reference in nest.references if array_reference.array == array
    )
    return reference


def lines_of(nest: StatementNest, array: str) -> list[float]:
    """Return how many lines of an array are said to be touched inside every loop.

    That is of one reference, and the same of all of them at once.
    """
    reference = reference_of(nest, array)
    floats = reference_footprint(nest, reference)
    place = nest.references.index(reference)
    seen = stacked_footprints(StackedReferences.of([nest.work]), loops_of(nest))
    np.testing.assert_allclose(seen.elements[place], floats[0], rtol=1e-12)
    np.testing.assert_allclose(seen.bytes[place], floats[1], rtol=1e-12)
    return (floats[1] / LINE_BYTES).tolist()


def loops_of(nest: StatementNest) -> StackedLoops:
    """Return a nest as arrays for one statement."""
    every = nest.references
    most = max(len(array_reference.access_strides) for array_reference in every)
    moves = np.zeros((len(every), most, len(nest.lengths)))
    for place, reference in enumerate(every):
        moves[place, most - len(reference.access_strides) :] = reference.access_strides
    strides = np.array([touch.stride for touch in every])
    count = np.array([len(nest.lengths)])
    return StackedLoops(count, nest.lengths[None], nest.box[None], moves, strides)


def counted(addresses: list[int], size: int) -> tuple[int, int]:
    """Return the lines that elements at bytes are in, and the runs apart by a line or more."""
    places = sorted(set(addresses))
    apart = [b - (a + size) >= LINE_BYTES for a, b in pairwise(places)]
    lines = {byte // LINE_BYTES for place in places for byte in range(place, place + size)}
    return len(lines), 1 + sum(apart)


def box(kind: str, extents: tuple[int, ...], lengths: tuple[int, ...], order: tuple[int, ...]):
    """Return the loops over a box of an array A, those of its subscripts in some order."""
    loops = "\n".join(f"for (int i{d} = 0; i{d} < {lengths[d]}; i{d}++)" for d in order)
    array = "".join(f"[{extent}]" for extent in extents)
    subscripts = "".join(f"[i{d}]" for d in range(len(extents)))
    # The factor is no function of one counter for all loops, so that loops stay apart.
    factor = " + ".join(f"{d + 2} * i{d}" for d in range(len(extents)))
    return nest_of(
        f"{kind} s[1], {kind} A{array}) {{\n#pragma scop\n{loops} "
        f"s[0] += A{subscripts} * ({factor});"
    )


@st.composite
def boxes(draw: st.DrawFn):
    depth = draw(st.integers(1, 4))
    extents = tuple(draw(st.lists(st.integers(1, 25 - 5 * depth), min_size=depth, max_size=depth)))
    # Whole subscripts as often as not.
    lengths = tuple(draw(st.sampled_from([n, n, draw(st.integers(1, n))])) for n in extents)
    order = draw(st.sampled_from(list(permutations(range(depth)))))
    return draw(st.sampled_from(sorted(SIZES))), extents, lengths, order


@settings(max_examples=60, deadline=None)
@given(boxes())
@example(("float", (8, 6, 3, 3), (8, 6, 3, 3), (0, 1, 2, 3)))
@example(("double", (9, 3), (9, 3), (0, 1)))
@example(("double", (4, 6), (4, 6), (0, 1)))
@example(("double", (10, 16), (10, 5), (0, 1)))
@example(("double", (10, 12), (10, 5), (1, 0)))
@example(("float", (4, 5, 16), (4, 3, 16), (0, 1, 2)))
def test_boxes_are_off_by_less_than_a_line_for_every_run(arguments) -> None:
    """In each execution of every loop, wherever in a line it begins."""
    kind, extents, lengths, order = arguments
    said, size = lines_of(box(*arguments), "A"), SIZES[kind]
    steps = [size * int(np.prod(extents[d + 1 :])) for d in range(len(extents))]
    places = [defaultdict(list) for _ in said]
    for point in product(*(range(length) for length in lengths)):
        for place in range(len(said)):
            key = tuple(point[d] for d in order[:place])
            places[place][key].append(int(np.dot(steps, point)))
    for expected, executions in zip(said, places, strict=True):
        for addresses in executions.values():
            lines, runs = counted(addresses, size)
            assert abs(expected - lines) < runs, (expected, lines, runs)
            assert expected <= len(addresses)
            assert expected < 1 + size * np.prod(extents) / LINE_BYTES


@pytest.mark.parametrize(
    ("kind", "extents", "bytes_"),
    [("float", (64, 64, 3, 3), 147456), ("double", (1000, 3), 24000), ("double", (4, 6), 192)],
)
def test_rows_that_are_touched_whole_are_one_run(
    kind: str, extents: tuple[int, ...], bytes_: int
) -> None:
    """The whole array: what it has, and as much of a line as may come with it."""
    said = lines_of(box(kind, extents, extents, tuple(range(len(extents)))), "A")
    assert said[0] == (bytes_ - SIZES[kind]) / LINE_BYTES + 1.0


def test_runs_by_hand() -> None:
    """The examples of the module."""
    assert lines_of(box("double", (100, 16), (100, 5), (0, 1)), "A")[0] == 150.0
    twice = nest_of(
        "double s[1], double x[2000]) {\n#pragma scop\n"
        "for (int i = 0; i < 9; i++) s[0] += x[i] + x[i + 1000];"
    )
    assert lines_of(twice, "x") == [4.0, 2.0]


def test_what_is_gathered() -> None:
    """A gather may go anywhere: a line for every element, but no more than the table has."""
    text = (
        "double s[1], double x[{n}], int p[50]) {{\n#pragma scop\n"
        "for (int i = 0; i < 50; i++) s[0] += x[p[i]];"
    )
    assert lines_of(nest_of(text.format(n=1000)), "x") == [50.0, 1.0]
    assert lines_of(nest_of(text.format(n=100)), "x") == [99 / 8 + 1, 1.0]


STRIDED = {
    "every other element": ("i < 16; j < 16", "i", "2 * j", 32),
    "far elements": ("i < 16; j < 4", "i", "16 * j", 64),
    "every other row": ("i < 8; j < 5", "2 * i", "j", 5),
    "blocks": ("i < 6; j < 24", "i", "j + 8", 40),
}


@pytest.mark.parametrize("what", STRIDED)
def test_steps(what: str) -> None:
    """Gaps of less than a line leave no line out; larger ones do."""
    bounds, row, column, width = STRIDED[what]
    loops = " ".join(f"for (int {span[0]} = 0; {span}; {span[0]}++)" for span in bounds.split("; "))
    nest = nest_of(
        f"double s[1], double A[16][{width}]) {{\n#pragma scop\n{loops} s[0] += A[{row}][{column}];"
    )
    most_i, most_j = (int(span[4:]) for span in bounds.split("; "))
    addresses = [
        8 * (eval(row, {"i": i}) * width + eval(column, {"j": j}))
        for i in range(most_i)
        for j in range(most_j)
    ]
    lines, runs = counted(addresses, 8)
    assert abs(lines_of(nest, "A")[0] - lines) < runs


def test_a_triangle_has_its_share() -> None:
    """Rows of all lengths up to n: half the lines of the square, and a piece of one for a row."""
    n = 200
    nest = nest_of(
        f"double s[1], double A[{n}][{n}]) {{\n#pragma scop\n"
        f"for (int i = 0; i < {n}; i++) for (int j = 0; j <= i; j++) s[0] += A[i][j];"
    )
    said = lines_of(nest, "A")[0]
    lines, runs = counted([8 * (i * n + j) for i in range(n) for j in range(i + 1)], 8)
    assert abs(said - lines) < runs
