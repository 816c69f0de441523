"""What a nest writes is elsewhere than what it reads; boxes around loops."""

from polygym.codegen.analysis.disjointness import PathCondition, ProgramPoint, box_hull
from polygym.codegen.loopir.ir import (
    Block,
    Index,
    IndexConstant,
    IndexOperation,
    IndexOperator,
    IndexVariable,
    Loop,
)
from tests.oracles.loops import value


def times(factor: int, name: str) -> Index:
    return IndexOperation(IndexOperator.MULTIPLY, (IndexConstant(factor), IndexVariable(name)))


def plus(index: Index, number: int) -> Index:
    return IndexOperation(IndexOperator.ADD, (index, IndexConstant(number)))


def loop(name: str, lower: Index, upper: Index) -> Loop:
    return Loop(name, lower, upper, 1, Block(()))


B = loop("b", IndexConstant(0), IndexConstant(3))
C = loop("c", IndexConstant(0), IndexVariable("b"))
I = loop("i", IndexConstant(0), IndexConstant(31))  # noqa: E741
J = loop("j", times(8, "b"), plus(times(8, "b"), 7))
K = loop("k", times(8, "c"), plus(times(8, "c"), 7))
WRITTEN, READ = (IndexVariable("i"), IndexVariable("j")), (IndexVariable("j"), IndexVariable("k"))
EQUAL = IndexOperation(IndexOperator.EQUAL, (IndexVariable("c"), IndexVariable("b")))


def place(*conditions: PathCondition) -> ProgramPoint:
    return ProgramPoint((B, C), conditions, (), {})


def test_columns_of_other_tiles_are_others() -> None:
    """A[i][j] is written and A[j][k] read: c < b is what tells the columns j and k apart."""
    assert not place().are_disjoint([WRITTEN], READ, (I, J, K))
    assert place(PathCondition(2, EQUAL, False)).are_disjoint([WRITTEN], READ, (I, J, K))
    assert not place(PathCondition(2, EQUAL, True)).are_disjoint([WRITTEN], READ, (I, J, K))


def test_an_element_is_not_another_one_than_itself() -> None:
    unequal = place(PathCondition(2, EQUAL, False))
    assert not unequal.are_disjoint([WRITTEN], WRITTEN, (I, J, K))
    assert not unequal.are_disjoint([WRITTEN, READ], READ, (I, J, K))
    assert unequal.are_disjoint([], READ, (I, J, K))


def test_another_iteration_may_write_what_this_one_reads() -> None:
    """A[i][j] and A[i + 1][j] differ at equal i, and are the same at neighbours."""
    neighbour = (plus(IndexVariable("i"), 1), IndexVariable("j"))
    assert not place().are_disjoint([WRITTEN], neighbour, (I, J, K))


def test_what_is_read_has_to_be_inside() -> None:
    extents = (IndexConstant(32), IndexConstant(32))
    assert place().are_in_bounds(extents, READ, (J, K))
    assert not place().are_in_bounds((IndexConstant(31), IndexConstant(32)), READ, (J, K))
    assert not place().are_in_bounds(
        extents, (plus(IndexVariable("j"), -1), IndexVariable("k")), (J, K)
    )


def test_the_hull_has_bounds_of_its_own() -> None:
    rows = loop("i", times(8, "a"), plus(times(8, "a"), 7))
    below = IndexOperation(
        IndexOperator.MINIMUM, (plus(times(8, "b"), 7), plus(IndexVariable("i"), -1))
    )
    columns = loop("j", times(8, "b"), below)
    loops = box_hull((rows, columns), (columns,))
    assert loops is not None
    (box,) = loops
    for a in range(4):
        for b in range(4):
            values = {"a": a, "b": b}
            widest = max((min(8 * b + 7, i - 1) for i in range(8 * a, 8 * a + 8)), default=-1)
            assert value(box.upper, values) == widest
            assert value(box.lower, values) == 8 * b
