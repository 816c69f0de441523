"""Diagram of a comprehension: range inference, then the polyhedral program, then loops.

``O(i) +=! I(i + x) * K(x)`` is drawn with M = 6 and N = 3. K bounds x in the first round; with x
known, I bounds i in the second one.
"""

from collections.abc import Iterator
from itertools import pairwise

from docs.site.diagram_shapes import (
    BLUE,
    FAINT,
    GREEN,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    LIGHT_SKY,
    ORANGE,
    RED,
    Diagram,
    arrow,
    between,
    box,
    dot,
    heading,
    line,
    lines,
    rectangle,
    text,
)

_M, _N = 6, 3
_CELL = 34.0


def _cells(x: float, y: float, name: str, count: int, fill: str) -> Iterator[str]:
    yield text(x - 10, y + 22, name, anchor="end", bold=True)
    for index in range(count):
        yield rectangle(x + _CELL * index, y, _CELL, _CELL, fill=fill, radius=0)
        middle = x + _CELL * (index + 0.5)
        yield text(middle, y + 21, f"{index}", anchor="middle", mono=True, room=_CELL)


def _span(x: float, y: float, count: int, words: str, colour: str) -> Iterator[str]:
    right = x + _CELL * count
    yield line(
        (x + 2, y + 5), (x + 2, y), (right - 2, y), (right - 2, y + 5), colour=colour, weight=2
    )
    yield text((x + right) / 2, y - 6, words, anchor="middle", mono=True, room=_CELL * count)


def _first_round() -> Iterator[str]:
    yield heading(16, 78, "Round 1: K bounds x")
    yield from _span(50, 114, _N, "K(x)", ORANGE)
    yield from _cells(50, 122, "K", _N, LIGHT_ORANGE)
    yield text(50, 176, "x stays inside K:", room=180)
    yield text(50, 194, "0 ≤ x < N", mono=True, room=180)


def _second_round() -> Iterator[str]:
    yield arrow((200, 139), (262, 139), weight=2.2)
    yield text(231, 131, "x known", anchor="middle", room=70)
    yield heading(280, 78, "Round 2: I bounds i")
    x = 310.0
    yield from _span(x, 114, _N, "I(0 + x)", BLUE)
    yield from _span(x + 3 * _CELL, 114, _N, "I(3 + x)", BLUE)
    yield from _cells(x, 122, "I", _M, LIGHT_SKY)
    yield text(x, 176, "i + x stays inside I for all x:", room=210)
    yield text(x, 194, "0 ≤ i < M - N + 1", mono=True, room=210)


def _result() -> Iterator[str]:
    yield heading(544, 78, "Size of the result")
    x = 562.0
    yield from _span(x, 114, _M - _N + 1, "O(i)", GREEN)
    yield from _cells(x, 122, "O", _M - _N + 1, LIGHT_GREEN)
    yield text(x, 176, "number of values of i:", room=150)
    yield text(x, 194, "M - N + 1", mono=True, room=140)


def _domain() -> Iterator[str]:
    yield heading(16, 244, "Scop: instances and dependences", room=340)
    left, bottom, step = 62.0, 330.0, 40.0
    yield arrow((left - 26, bottom + 62), (left + 154, bottom + 62), weight=1.2, head=7)
    yield text(left + 160, bottom + 66, "i", mono=True)
    yield arrow((left - 26, bottom + 62), (left - 26, 256), weight=1.2, head=7)
    yield text(left - 40, 266, "x", mono=True)
    for i in range(_M - _N + 1):
        across = left + step * i
        points = [(across, bottom + 40), *((across, bottom - 30 * x) for x in range(_N))]
        for start, end in pairwise(points):
            yield arrow(*between(start, end, 7), colour=RED, weight=1.6, head=7)
        yield rectangle(across - 5, bottom + 35, 10, 10, fill=GREEN, stroke="none", radius=1)
        yield from (dot(*point, 5, fill=BLUE) for point in points[1:])
    rows = ("S1[i, x]:", "O(i) += I(i + x) * K(x)")
    yield lines(left + 150, bottom - 40, rows, room=150)
    yield text(left + 150, bottom + 44, "S0[i]: O(i) = 0", room=130)
    yield text(left + 150, bottom + 4, "sum in order of x", room=140)


def _code() -> Iterator[str]:
    yield arrow((352, 320), (412, 320), weight=2.2)
    yield text(382, 306, "schedule,", anchor="middle", room=70)
    yield text(382, 342, "mapping", anchor="middle", room=70)
    yield heading(424, 244, "Code", room=280)
    rows = (
        "for (i = 0; i <= M - N; i++)",
        "  O[i] = 0;",
        "for (i = 0; i <= M - N; i++)",
        "  for (x = 0; x < N; x++)",
        "    O[i] += I[i + x] * K[x];",
    )
    yield rectangle(424, 258, 280, 106, fill="#f4f6f8")
    yield lines(438, 282, rows, mono=True, room=258)
    yield text(424, 390, "here with M = 6, N = 3; sizes stay symbolic", fill=FAINT, room=280)


def _shapes() -> Iterator[str]:
    code = "def convolution(float(M) I, float(N) K) -> (O) { O(i) +=! I(i + x) * K(x) }"
    yield box(16, 16, 688, 32, rows=(code,), fill="#f4f6f8", mono=True)
    yield from _first_round()
    yield from _second_round()
    yield from _result()
    yield line((16, 216), (704, 216), colour="#c3cad3")
    yield from _domain()
    yield from _code()


DIAGRAM = Diagram(
    "comprehensions",
    "Range inference of the convolution: K bounds x, then I bounds i",
    "In round 1 the access K(x) bounds x to 0 ≤ x < N. In round 2 the access I(i + x) bounds i to "
    "0 ≤ i < M - N + 1, which is the size of O. The polyhedral program has the statements S0[i] "
    "and S1[i, x] with dependences along x; under a schedule and a mapping it becomes loops.",
    408,
    tuple(_shapes()),
)
