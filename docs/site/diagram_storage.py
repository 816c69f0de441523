"""Diagram of storage: the instances that write and read a scalar, under three storage plans.

``S: w = 2 * x[i]; T: y[i] = w * w`` in a loop over i. One element orders all instances; expanded,
each iteration has an element and only the flow of values is left; private, each thread has one.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from docs.site.diagram_shapes import (
    BLUE,
    FAINT,
    GREEN,
    LIGHT_ORANGE,
    LIGHT_PURPLE,
    LIGHT_SKY,
    ORANGE,
    RED,
    SKY,
    Diagram,
    Point,
    arrow,
    between,
    box,
    disc,
    heading,
    line,
    lines,
    rectangle,
    text,
)

_WRITE_Y, _READ_Y, _CELL_Y = 148.0, 206.0, 256.0
_WIDTH, _GAP = 218.0, 17.0


def _panel(number: int, title: str, code: Sequence[str]) -> Iterator[str]:
    x = 16 + number * (_WIDTH + _GAP)
    yield rectangle(x, 14, _WIDTH, 348, fill="#fafbfc", stroke="#c3cad3")
    yield heading(x + 10, 36, title, room=_WIDTH - 20)
    yield lines(x + 10, 58, code, mono=True, room=_WIDTH - 14)


def _columns(number: int, count: int) -> list[float]:
    x, step = 16 + number * (_WIDTH + _GAP), _WIDTH / count
    return [x + step * (k + 0.5) for k in range(count)]


def _instances(columns: Sequence[float]) -> Iterator[str]:
    for iteration, x in enumerate(columns):
        yield disc(x, _WRITE_Y, f"S{iteration}", fill=LIGHT_ORANGE)
        yield disc(x, _READ_Y, f"T{iteration}", fill=LIGHT_SKY)
        yield _edge((x, _WRITE_Y), (x, _READ_Y), GREEN)


def _edge(start: Point, end: Point, colour: str, dashes: str = "") -> str:
    return arrow(*between(start, end, 15), colour=colour, weight=1.8, dashes=dashes)


def _accesses(x: float, cell: float) -> Iterator[str]:
    yield line((x, _READ_Y + 15), (cell, _CELL_Y - 2), colour=BLUE, weight=1, dashes="2 3")


def _source() -> Iterator[str]:
    yield from _panel(
        0, "As written: one element", ("for i:", "  S: w = 2 * x[i]", "  T: y[i] = w * w")
    )
    columns = _columns(0, 3)
    for left, right in pairwise(columns):
        yield _edge((left, _WRITE_Y), (right, _WRITE_Y), RED, "2 3")
        yield _edge((left, _READ_Y), (right, _WRITE_Y), RED, "6 3")
    for x in columns:
        yield from _accesses(x, columns[1])
    yield from _instances(columns)
    yield box(columns[1] - 30, _CELL_Y, 60, 26, rows=("w",), fill=LIGHT_PURPLE, mono=True)
    yield text(26, _CELL_Y + 18, "memory", fill=FAINT, room=56)
    words = ("T reads w before the next", "S writes it: iterations", "stay in order.")
    yield lines(26, 318, words, room=_WIDTH - 14)


def _expanded() -> Iterator[str]:
    code = ("for i: parallel", "  S: w_1[i] = 2 * x[i]", "  T: y[i] = w_1[i] * w_1[i]")
    yield from _panel(1, "w=expand:i", code)
    columns = _columns(1, 3)
    for iteration, x in enumerate(columns):
        yield from _accesses(x, x)
        yield box(
            x - 30, _CELL_Y, 60, 26, rows=(f"w_1[{iteration}]",), fill=LIGHT_PURPLE, mono=True
        )
    yield from _instances(columns)
    words = (
        "Only the flow of values is left:",
        "iterations are independent.",
        "Memory: n elements.",
    )
    yield lines(261, 318, words, room=_WIDTH - 14)


def _private() -> Iterator[str]:
    code = ("for i: parallel", "  S: w_1 = 2 * x[i]", "  T: y[i] = w_1 * w_1")
    yield from _panel(2, "w=private:i", code)
    columns = _columns(2, 4)
    for thread, colour in enumerate((SKY, ORANGE)):
        left, right = columns[2 * thread], columns[2 * thread + 1]
        yield rectangle(left - 21, 120, right - left + 42, 174, stroke=colour, weight=2)
        middle = (left + right) / 2
        yield text(middle, 114, f"thread {thread}", anchor="middle")
        for x in (left, right):
            yield from _accesses(x, middle)
        yield box(middle - 30, _CELL_Y, 60, 26, rows=("w_1",), fill=LIGHT_PURPLE, mono=True)
    yield from _instances(columns)
    words = (
        "Legality as expanded; a thread",
        "reuses its own element.",
        "Memory: one per thread.",
    )
    yield lines(496, 318, words, room=_WIDTH - 14)


def _legend(y: float) -> Iterator[str]:
    rows = (
        (16.0, GREEN, "", "flow: T reads the value of S"),
        (262.0, RED, "6 3", "anti: read before write"),
        (496.0, RED, "2 3", "output: write before write"),
    )
    for x, colour, dashes, words in rows:
        yield arrow((x, y - 4), (x + 30, y - 4), colour=colour, weight=1.8, dashes=dashes)
        yield text(x + 36, y, words, room=188)


def _shapes() -> Iterator[str]:
    yield from _source()
    yield from _expanded()
    yield from _private()
    yield from _legend(386)


DIAGRAM = Diagram(
    "storage",
    "Instances that write and read a scalar: as written, expanded, private to threads",
    "Statement S writes w and T reads it in each iteration of i. As written, anti and output "
    "dependences on the one element w order all iterations. Expanded along i, each iteration has "
    "an element and only flow dependences are left. Private, each thread has one element.",
    402,
    tuple(_shapes()),
)
