"""What a nest writes is elsewhere than what it reads; boxes around loops."""

from polygym.compiler.codegen.loops.ir import (
    Block,
    Index,
    IndexOperator,
    Loop,
    Number,
    Operation,
    Variable,
)
from polygym.compiler.codegen.loops.steady import Condition, Place, hull
from tests.oracles.loops import value


def times(factor: int, name: str) -> Index:
    return Operation(IndexOperator.MULTIPLY, (Number(factor), Variable(name)))


def plus(index: Index, number: int) -> Index:
    return Operation(IndexOperator.ADD, (index, Number(number)))


def loop(name: str, lower: Index, upper: Index) -> Loop:
    return Loop(name, lower, upper, 1, Block(()))


B = loop("b", Number(0), Number(3))
C = loop("c", Number(0), Variable("b"))
I = loop("i", Number(0), Number(31))  # noqa: E741
J = loop("j", times(8, "b"), plus(times(8, "b"), 7))
K = loop("k", times(8, "c"), plus(times(8, "c"), 7))
WRITTEN, READ = (Variable("i"), Variable("j")), (Variable("j"), Variable("k"))
EQUAL = Operation(IndexOperator.EQUAL, (Variable("c"), Variable("b")))


def place(*conditions: Condition) -> Place:
    return Place((B, C), conditions, (), {})


def test_columns_of_other_tiles_are_others() -> None:
    """A[i][j] is written and A[j][k] read: c < b is what tells the columns j and k apart."""
    assert not place().are_others([WRITTEN], READ, (I, J, K))
    assert place(Condition(2, EQUAL, False)).are_others([WRITTEN], READ, (I, J, K))
    assert not place(Condition(2, EQUAL, True)).are_others([WRITTEN], READ, (I, J, K))


def test_an_element_is_not_another_one_than_itself() -> None:
    unequal = place(Condition(2, EQUAL, False))
    assert not unequal.are_others([WRITTEN], WRITTEN, (I, J, K))
    assert not unequal.are_others([WRITTEN, READ], READ, (I, J, K))
    assert unequal.are_others([], READ, (I, J, K))


def test_another_iteration_may_write_what_this_one_reads() -> None:
    """A[i][j] and A[i + 1][j] differ at equal i, and are the same at neighbours."""
    neighbour = (plus(Variable("i"), 1), Variable("j"))
    assert not place().are_others([WRITTEN], neighbour, (I, J, K))


def test_what_is_read_has_to_be_inside() -> None:
    extents = (Number(32), Number(32))
    assert place().are_in(extents, READ, (J, K))
    assert not place().are_in((Number(31), Number(32)), READ, (J, K))
    assert not place().are_in(extents, (plus(Variable("j"), -1), Variable("k")), (J, K))


def test_the_hull_has_bounds_of_its_own() -> None:
    rows = loop("i", times(8, "a"), plus(times(8, "a"), 7))
    below = Operation(IndexOperator.MINIMUM, (plus(times(8, "b"), 7), plus(Variable("i"), -1)))
    columns = loop("j", times(8, "b"), below)
    found = hull((rows, columns), (columns,))
    assert found is not None
    (box,) = found
    for a in range(4):
        for b in range(4):
            values = {"a": a, "b": b}
            widest = max((min(8 * b + 7, i - 1) for i in range(8 * a, 8 * a + 8)), default=-1)
            assert value(box.upper, values) == widest
            assert value(box.lower, values) == 8 * b
