"""Iterations that wrap around, apart from the others, by brute force."""

from dataclasses import replace

import pytest

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP, VectorLoop
from polygym.codegen.loopir.index_arithmetic import add_constant, maximum, minimum
from polygym.codegen.loopir.ir import (
    Block,
    Guard,
    Index,
    IndexConstant,
    IndexOperation,
    IndexOperator,
    IndexVariable,
    Instance,
    Loop,
    Node,
)
from polygym.codegen.pipeline import lower
from polygym.codegen.transforms.peeling import peel_loops
from polygym.frontend.c import parse_text
from polygym.mapping.mapping import parse_mapping
from polygym.poly.innermost import displacement, innermost_loop, usual_displacement
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.oracles.loops import events

RING = parse_text(
    "void f(int n, int m, double A[n + 9], double B[n + 9]) {\n#pragma scop\n"
    "for (int j = 0; j < n; j++)\nS: B[j] = A[j == 0 ? n - 1 : j - 1];\n#pragma endscop\n}\n"
)
N, T, COUNTER = IndexVariable("n"), IndexVariable("t"), IndexVariable("j")
LAST, ZERO = add_constant(N, -1), IndexConstant(0)


def compared(operator: IndexOperator, left: Index, right: Index) -> Index:
    return IndexOperation(operator, (left, right))


def cases(*conditions: Index) -> Index:
    """Return a subscript with a value of its own under each condition."""
    variable: Index = COUNTER
    for number, condition in enumerate(conditions):
        variable = IndexOperation(
            IndexOperator.SELECT, (condition, IndexConstant(1000 + number), variable)
        )
    return variable


def loop(subscript: Index, low: Index = ZERO, high: Index = LAST) -> Loop:
    body = Instance("S", (COUNTER,), (COUNTER,), ((subscript,),))
    return Loop("j", low, high, 1, body, VectorLoop(256, 1))


def vectors(node: Node) -> list[Loop]:
    match node:
        case Block(children):
            return [found for child in children for found in vectors(child)]
        case Loop(annotation=VectorLoop()):
            return [node]
        case Loop():
            return vectors(node.body)
        case Guard(_, then, _):
            return vectors(then)
        case Instance():
            return []


def run(node: Node, **values: int) -> list[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]]:
    return [(event.point, event.reads) for event in events(node, values)]


EQUAL, LESS = IndexOperator.EQUAL, IndexOperator.LESS
AT_MOST, MORE = IndexOperator.LESS_EQUAL, IndexOperator.GREATER
AT_LEAST = IndexOperator.GREATER_EQUAL
TURNS = {
    "first": [compared(EQUAL, COUNTER, IndexConstant(0))],
    "last": [compared(EQUAL, COUNTER, LAST)],
    "both": [compared(EQUAL, COUNTER, IndexConstant(0)), compared(EQUAL, LAST, COUNTER)],
    "the first two": [compared(AT_MOST, COUNTER, IndexConstant(1))],
    "not the first": [compared(LESS, IndexConstant(0), COUNTER)],
    "from the third on": [compared(AT_LEAST, add_constant(COUNTER, -2), IndexConstant(0))],
    "the last two": [compared(MORE, COUNTER, add_constant(N, -3))],
    "all but the last": [compared(LESS, COUNTER, LAST)],
    "backwards": [
        compared(
            AT_LEAST, IndexOperation(IndexOperator.SUBTRACT, (LAST, COUNTER)), IndexConstant(1)
        )
    ],
    "either": [
        IndexOperation(
            IndexOperator.OR,
            (compared(EQUAL, COUNTER, IndexConstant(0)), compared(EQUAL, COUNTER, LAST)),
        )
    ],
    "with another": [
        IndexOperation(
            IndexOperator.AND,
            (compared(EQUAL, T, IndexConstant(3)), compared(EQUAL, COUNTER, LAST)),
        )
    ],
}


@pytest.mark.parametrize("name", TURNS)
def test_the_parts_are_the_loop_and_its_middle_has_no_cases(name: str) -> None:
    before = loop(cases(*TURNS[name]))
    after = peel_loops(before, RING, {})
    (middle,) = vectors(after)
    assert isinstance(middle.body, Instance)
    (subscript,) = middle.body.reads[0]
    assert not (
        isinstance(subscript, IndexOperation) and subscript.operator is IndexOperator.SELECT
    )
    for n in range(8):
        for t in (2, 3):
            assert run(after, n=n, t=t) == run(before, n=n, t=t)


@pytest.mark.parametrize("name", TURNS)
def test_parts_of_tiles(name: str) -> None:
    """Tiles of 5 of 0 .. 11: the comparisons are with numbers then, and the bounds with tiles."""
    numbers = {"n": 12}
    first = IndexOperation(IndexOperator.MULTIPLY, (IndexConstant(5), T))
    points = loop(cases(*TURNS[name]), first, minimum(add_constant(first, 4), LAST))
    before = Loop("t", IndexConstant(0), IndexConstant(2), 1, points)
    after = peel_loops(before, RING, numbers)
    assert run(after, **numbers) == run(before, **numbers)


def test_in_tiles_the_ends_are_those_of_all_tiles() -> None:
    first = IndexOperation(IndexOperator.MULTIPLY, (IndexConstant(5), T))
    ends = [compared(EQUAL, COUNTER, IndexConstant(0)), compared(EQUAL, COUNTER, IndexConstant(11))]
    points = loop(cases(*ends), first, minimum(add_constant(first, 4), IndexConstant(11)))
    after = peel_loops(Loop("t", IndexConstant(0), IndexConstant(2), 1, points), RING, {})
    (middle,) = vectors(after)
    assert middle.lower == maximum(first, IndexConstant(1))
    assert isinstance(middle.body, Instance)
    assert middle.body.reads == ((COUNTER,),)


@pytest.mark.parametrize(
    "subscript",
    [
        COUNTER,
        cases(compared(EQUAL, COUNTER, T)),  # anywhere
        cases(
            compared(
                EQUAL,
                IndexOperation(IndexOperator.MULTIPLY, (IndexConstant(2), COUNTER)),
                IndexConstant(0),
            )
        ),
        cases(compared(EQUAL, IndexConstant(0), T)),
    ],
)
def test_what_turns_nowhere_near_an_end_is_left_alone(subscript: Index) -> None:
    before = loop(subscript)
    assert peel_loops(before, RING, {}) == before


def test_only_loops_that_run_in_vectors_are_cut() -> None:
    before = replace(loop(cases(*TURNS["both"])), annotation=SEQUENTIAL_LOOP)
    assert peel_loops(before, RING, {}) == before


def test_comparisons_with_inner_counters_are_left_alone() -> None:
    inner = Instance("S", (COUNTER,), (COUNTER,), ((cases(compared(EQUAL, COUNTER, T)),),))
    before = replace(loop(COUNTER), body=Loop("t", IndexConstant(0), IndexConstant(0), 1, inner))
    assert peel_loops(before, RING, {}) == before


def test_how_accesses_usually_move() -> None:
    (statement,) = RING.statements
    (read,) = statement.reads
    along = innermost_loop(statement.domain, [(1,)])
    assert displacement(statement, read, along) is None
    assert usual_displacement(statement, read, along) == (1,)
    half = parse_text(
        "void f(int n, double A[2 * n], double B[2 * n]) {\n#pragma scop\n"
        "for (int j = 0; j < 2 * n; j++)\nS: B[j] = A[j < n ? j : 2 * n - 1 - j];\n"
        "#pragma endscop\n}\n"
    )
    (statement,) = half.statements
    assert usual_displacement(statement, statement.reads[0], along) is None


def test_a_ring_runs_in_vectors() -> None:
    program = lower(
        LegalSchedule(RING, original_schedule(RING)), parse_mapping("default"), {"n": 99, "m": 1}
    )
    lanes = [instance for instance in _instances(program.body) if instance.lanes is not None]
    assert lanes
    assert all(
        not isinstance(found.reads[0][0], IndexOperation)
        or found.reads[0][0].operator is not IndexOperator.SELECT
        for found in lanes
    )


def _instances(node: Node) -> list[Instance]:
    match node:
        case Block(children):
            return [instance for child in children for instance in _instances(child)]
        case Loop():
            return _instances(node.body)
        case Guard(_, then, otherwise):
            return _instances(then) + ([] if otherwise is None else _instances(otherwise))
        case Instance():
            return [node]
