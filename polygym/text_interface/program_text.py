"""Programs as C-like text with named loops.

The loop tree of a state is printed with the bounds of each loop, the marks on it, and the text of
its statements. Example, a product of matrices after ``interchange`` and ``tile``::

    L1: for (i = 0; i <= ni - 1; i++) {
      L3: for (k = 0; k <= nk - 1; k++) {  // tile 32
        S1: C[i][j] += alpha * A[i][k] * B[k][j];

A counter that is an iterator of the source has its name; any other one is called after its loop,
``c3`` in ``L3``, and a comment says what it is for each statement. Bounds that are no single affine
function are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from polygym.mapping.knob_domains import WorkSharing
from polygym.poly.counter_bounds import counter_bound
from polygym.poly.schedule import ScheduleRow
from polygym.text_interface.help_text import ascii_text
from polygym.transformations.loop_marks import marks_of
from polygym.transformations.loop_tree import Body, Loop, StatementNode
from polygym.transformations.state import TransformState

_LONGEST_STATEMENT = 400
_MOST_ROWS = 6


def program_text(state: TransformState) -> str:
    """Return the loops of a state as C, each with its name."""
    return "\n".join(_body_lines(state, state.tree.body, (), ()))


def _body_lines(
    state: TransformState, body: Body, around: tuple[Loop, ...], counters: tuple[str, ...]
) -> Iterator[str]:
    indent = "  " * len(around)
    for node in body:
        if isinstance(node, StatementNode):
            statement = state.scop.statement(node.name)
            text = ascii_text(" ".join(statement.text.split()))
            if len(text) > _LONGEST_STATEMENT:
                text = f"{text[:_LONGEST_STATEMENT]} ..."
            yield f"{indent}{node.name}: {text}"
            continue
        counter = counter_name(state, node, counters)
        yield f"{indent}{node.name}: {_head(state, node, around, counters, counter)}"
        yield from _body_lines(state, node.body, (*around, node), (*counters, counter))
        yield f"{indent}}}"


def counter_name(state: TransformState, loop: Loop, taken: tuple[str, ...]) -> str:
    """Return the name of a loop's counter: the iterator that it is, or ``c`` and a number."""
    names = dict(state.tree.iterators)
    sizes = (0,) * len(state.tree.parameters)
    found: set[str] = set()
    for statement, row in zip(loop.statements, loop.rows, strict=True):
        places = [place for place, factor in enumerate(row.iterators) if factor]
        if len(places) != 1 or row.iterators[places[0]] != 1:
            return _own_name(loop)
        if row.constant or row.parameters != sizes:
            return _own_name(loop)
        found.add(names[statement][places[0]])
    (name,) = found if len(found) == 1 else (_own_name(loop),)
    return _own_name(loop) if name in taken else name


def _own_name(loop: Loop) -> str:
    return f"c{loop.name[1:]}"


def _head(
    state: TransformState,
    loop: Loop,
    around: tuple[Loop, ...],
    counters: tuple[str, ...],
    counter: str,
) -> str:
    low = _bound(state, loop, around, counters, is_first=True)
    high = _bound(state, loop, around, counters, is_first=False)
    notes = [*_rows(state, loop, counter), *_marks(state, loop)]
    comment = f"  // {'; '.join(notes)}" if notes else ""
    return f"for ({counter} = {low}; {counter} <= {high}; {counter}++) {{{comment}"


def _bound(
    state: TransformState,
    loop: Loop,
    around: tuple[Loop, ...],
    counters: tuple[str, ...],
    *,
    is_first: bool,
) -> str:
    rows = tuple(
        (name, tuple(outer.row(name) for outer in around), loop.row(name))
        for name in loop.statements
    )
    bound = state.program.memo(
        ("bound", id(state.version), rows, is_first),
        lambda: (counter_bound(state.scop, rows, is_first=is_first), state.version),
    )[0]
    if bound is None:
        return "..."
    row = ScheduleRow(bound.outer, bound.parameters, bound.constant)
    return ascii_text(row.text(counters, state.tree.parameters))


def _rows(state: TransformState, loop: Loop, counter: str) -> list[str]:
    """Return what the counter is in each statement, where that is not its name."""
    names = dict(state.tree.iterators)
    by_text: dict[str, list[str]] = {}
    for statement, row in zip(loop.statements, loop.rows, strict=True):
        text = row.text(names[statement], state.tree.parameters)
        by_text.setdefault(text, []).append(statement)
    if list(by_text) == [counter]:
        return []
    if len(by_text) > _MOST_ROWS:
        return [f"{counter} is another function in each of {len(by_text)} groups of statements"]
    return [
        f"{counter} = {ascii_text(text)} in {', '.join(statements)}"
        for text, statements in by_text.items()
    ]


def _marks(state: TransformState, loop: Loop) -> list[str]:
    """Return the marks of a loop as words."""
    marks = marks_of(state.marks, loop.name)
    words = []
    if marks.tile is not None:
        words.append(f"tile {marks.tile}")
    if marks.jam is not None:
        words.append(f"unroll_jam {marks.jam}")
    if marks.is_vector_loop:
        words.append("vectorize" + (f" {marks.vector_bits}" if marks.vector_bits else ""))
    elif marks.vector_bits == 0:
        words.append("vectorize off")
    if marks.sharing is not None:
        off = marks.sharing is WorkSharing.OFF
        words.append("parallel off" if off else f"parallel {marks.sharing.value}")
    return words
