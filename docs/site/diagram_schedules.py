"""Diagram of schedules: a stencil over time, the cone of its legal rows, and the stencil skewed.

``S: a[t][i] = a[t-1][i-1] + a[t-1][i] + a[t-1][i+1]`` has dependences of distance (1, -1), (1, 0)
and (1, 1). A row a·t + b·i keeps all of them if a - b >= 0, a >= 0 and a + b >= 0, and carries them
if these three are at least 1: the vertex t, plus multiples of the rays t + i and t - i.
"""

from collections.abc import Iterator
from itertools import product

from docs.site.diagram_shapes import (
    BLUE,
    FAINT,
    GREEN,
    GREY,
    LIGHT_BLUE,
    ORANGE,
    RED,
    SKY,
    WHITE,
    Diagram,
    Point,
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

_TIMES, _PLACES = range(1, 5), range(1, 6)
_DISTANCES = ((1, -1), (1, 0), (1, 1))
_STEP = 34.0
_BOTTOM = 252.0


def _axes(x: float, y: float, width: float, height: float, across: str, up: str) -> Iterator[str]:
    yield arrow((x, y), (x + width, y), weight=1.2, head=7)
    yield arrow((x, y), (x, y - height), weight=1.2, head=7)
    yield text(x + width, y + 15, across, anchor="end", mono=True)
    yield text(x - 6, y - height + 8, up, anchor="end", mono=True)


def _dependences(place: dict[Point, Point]) -> Iterator[str]:
    for (time, index), (step, offset) in product(place, _DISTANCES):
        sink = time + step, index + offset
        if sink in place:
            ends = between(place[time, index], place[sink], 6)
            yield arrow(*ends, colour=RED if offset < 0 else FAINT, weight=1.2, head=6)


def _domain(place: dict[Point, Point]) -> Iterator[str]:
    yield from _dependences(place)
    yield from (dot(x, y, fill=BLUE) for x, y in place.values())


def _original(x: float) -> Iterator[str]:
    place: dict[Point, Point] = {
        (t, i): (x + 26 + _STEP * (i - 1), _BOTTOM - 26 - 1.2 * _STEP * (t - 1))
        for t, i in product(_TIMES, _PLACES)
    }
    yield heading(x - 14, 62, "As written: [t, i]")
    yield from _axes(x, _BOTTOM, 190, 172, "i", "t")
    for corner in ((1, 1), (1, 3)):
        left, low = place[corner]
        yield rectangle(
            left - 11,
            low - 1.2 * _STEP - 11,
            _STEP + 22,
            1.2 * _STEP + 22,
            stroke=ORANGE,
            dashed=True,
        )
    yield from _domain(place)


def _skewed(x: float) -> Iterator[str]:
    step = 24.0
    place: dict[Point, Point] = {
        (t, i): (x + 22 + step * (t + i - 2), _BOTTOM - 26 - 1.2 * _STEP * (t - 1))
        for t, i in product(_TIMES, _PLACES)
    }
    yield heading(x - 14, 62, "Skewed: [t, t + i]")
    yield from _axes(x, _BOTTOM, 212, 172, "t + i", "t")
    for column, row in ((0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (3, 1)):
        left = x + 22 - step / 2 + 2 * step * column + 1.5
        low = _BOTTOM - 26 + 0.6 * _STEP - 2.4 * _STEP * row
        yield rectangle(
            left, low - 2.4 * _STEP + 3, 2 * step - 3, 2.4 * _STEP - 3, stroke=GREEN, weight=1.6
        )
    yield from _domain(place)


def _coefficient_point(x: float, y: float, across: int, up: int) -> str:
    if up - abs(across) >= 1:
        return dot(x, y, 5, fill=BLUE)
    if up - abs(across) == 0:
        return dot(x, y, 5, fill=SKY)
    return dot(x, y, 4, fill=WHITE, stroke=RED)


def _cone(x: float) -> Iterator[str]:
    step, origin_y = 40.0, _BOTTOM - 32
    yield heading(x - 100, 62, "Legal rows: a·t + b·i")
    corner = 2.9 * step
    tips = (x - corner + 22, origin_y - corner + 22), (x + corner - 22, origin_y - corner + 22)
    yield line((x, origin_y), *tips, colour="none", fill=LIGHT_BLUE)
    yield arrow((x - 100, origin_y), (x + 104, origin_y), weight=1.2, head=7)
    yield arrow((x, origin_y + 34), (x, 76), weight=1.2, head=7)
    yield text(x + 104, origin_y + 15, "b", anchor="end", mono=True)
    yield text(x - 12, 84, "a", mono=True)
    for side in (-1, 1):
        yield arrow((x, origin_y), (x + side * 74, origin_y - 74), colour=BLUE, weight=2.2)
    for across, up in product(range(-2, 3), range(3)):
        yield _coefficient_point(x + step * across, origin_y - step * up, across, up)
    yield text(x + 8, origin_y - step - 4, "t", mono=True)
    yield text(x + step - 4, origin_y - step + 20, "t + i", mono=True)
    yield text(x - step + 4, origin_y - step + 20, "t - i", anchor="end", mono=True)
    yield text(x + step, origin_y + 20, "i", anchor="middle", mono=True)


def _legend(x: float, y: float) -> Iterator[str]:
    rows = (
        (dot(x, y - 4, 5, fill=BLUE), "carries all dependences"),
        (dot(x, y + 12, 5, fill=SKY), "reverses none"),
        (dot(x, y + 28, 4, fill=WHITE, stroke=RED), "reverses one: illegal"),
    )
    for number, (point, words) in enumerate(rows):
        yield point
        yield text(x + 12, y + 16 * number, words, room=190)


def _code(y: float) -> Iterator[str]:
    yield line((16, y - 12), (704, y - 12), colour="#c3cad3")
    rows = ("S[t, i] ->", "[t, t + i]")
    yield box(16, y + 6, 120, 66, "Schedule", rows, fill=LIGHT_BLUE, mono=True)
    yield arrow((138, y + 39), (166, y + 39))
    yield box(168, y + 6, 128, 66, "Schedule tree", ("Band(t, t + i)",), fill=GREY, mono=True)
    yield arrow((298, y + 39), (326, y + 39))
    yield rectangle(328, y, 376, 78, fill="#f4f6f8")
    rows = (
        "for (c0 = 1; c0 < steps; c0++)",
        "  for (c1 = c0 + 1; c1 < n + c0 - 1; c1++)",
        "    a[c0][c1-c0] = a[c0-1][c1-c0-1] + …",
    )
    yield lines(338, y + 27, rows, mono=True, room=362)


def _shapes() -> Iterator[str]:
    statement = "S: a[t][i] = a[t-1][i-1] + a[t-1][i] + a[t-1][i+1]"
    yield text(360, 30, statement, anchor="middle", mono=True, room=688)
    yield from _original(30)
    yield from _cone(362)
    yield from _skewed(494)
    room = 212
    yield lines(
        16, 286, ("One arrow points left, so each", "tile needs the other: no tiles."), room=room
    )
    yield from _legend(256, 286)
    yield lines(
        480, 286, ("No arrow points left: the two", "loops form a band, tiles are legal."), room=224
    )
    yield text(
        360,
        346,
        "Distances (1, -1), (1, 0), (1, 1) give the cone a - b ≥ 0, a ≥ 0, a + b ≥ 0.",
        anchor="middle",
        room=688,
    )
    yield from _code(374)


DIAGRAM = Diagram(
    "schedules",
    "A stencil before and after skewing, and the cone of its legal rows",
    "Left: instances (t, i) of a stencil with dependences to (t+1, i-1), (t+1, i) and (t+1, i+1); "
    "tiles of the original order need each other. Middle: the coefficients of a row a·t + b·i; "
    "legal rows form a cone between t + i and t - i. Right: under [t, t + i] no dependence points "
    "backwards, so rectangular tiles are legal. Below: the schedule, its band, the loops.",
    464,
    tuple(_shapes()),
)
