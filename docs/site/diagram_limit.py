"""Diagram of the limit: the three bounds of a time, and where programs stand below two roofs.

The right part is a roofline of one level of memory, on logarithmic axes and without numbers: the
places of the programs are schematic.
"""

from collections.abc import Iterator

from docs.site.diagram_shapes import (
    BLUE,
    FAINT,
    INK,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    LIGHT_PURPLE,
    ORANGE,
    PURPLE,
    RED,
    WHITE,
    Diagram,
    arrow,
    box,
    dot,
    heading,
    line,
    lines,
    text,
)

_LEFT, _BOTTOM, _RIGHT, _ROOF = 350.0, 330.0, 700.0, 84.0
_RIDGE = _LEFT + 176


def _bound(y: float, name: str, above: str, below: str, fill: str) -> Iterator[str]:
    yield box(16, y, 280, 64, fill=fill)
    yield text(28, y + 37, name, bold=True, room=80)
    yield text(110, y + 37, "=")
    yield text(208, y + 26, above, anchor="middle", room=170)
    yield line((126, y + 33), (290, y + 33), colour=INK, weight=1)
    yield text(208, y + 49, below, anchor="middle", room=170)


def _formula() -> Iterator[str]:
    yield heading(16, 34, "Bounds of the time")
    yield lines(
        16,
        56,
        ("above the bar: counted in the program", "below: measured on the machine"),
        fill=FAINT,
    )
    yield from _bound(88, "compute", "needed operations", "operations per second", LIGHT_ORANGE)
    yield from _bound(160, "memory", "bytes beyond the caches", "bandwidth", LIGHT_BLUE)
    yield box(16, 232, 280, 64, fill=LIGHT_PURPLE)
    yield text(28, 269, "chain", bold=True, room=80)
    yield text(110, 269, "=")
    yield text(208, 260, "operations that wait", anchor="middle", room=170)
    yield text(208, 277, "for each other · latency", anchor="middle", room=170)
    words = ("limit = max(compute, memory, chain)", "share = limit / measured time")
    yield box(16, 312, 280, 52, rows=words, fill=LIGHT_GREEN)


def _roof() -> Iterator[str]:
    yield heading(340, 34, "What binds which program")
    yield line(
        (_LEFT, _BOTTOM),
        (_RIDGE, _ROOF),
        (_RIGHT, _ROOF),
        (_RIGHT, _BOTTOM),
        colour="none",
        fill="#f4f6f8",
    )
    yield arrow((_LEFT, _BOTTOM), (_RIGHT + 6, _BOTTOM), weight=1.2, head=7)
    yield arrow((_LEFT, _BOTTOM), (_LEFT, 60), weight=1.2, head=7)
    yield text(_RIGHT + 4, _BOTTOM + 18, "operations per byte (log)", anchor="end", room=200)
    yield text(_LEFT + 10, 66, "operations per second (log)", room=220)
    yield line((_RIDGE, _ROOF), (_RIGHT, _ROOF), colour=ORANGE, weight=3)
    yield line((_LEFT, _BOTTOM), (_RIDGE, _ROOF), colour=BLUE, weight=3)
    yield text(_RIGHT, _ROOF - 8, "compute", anchor="end", bold=True, room=100)
    yield text(_LEFT + 104, 160, "memory", anchor="end", bold=True, room=70)


def _program(x: float, limit: float, found: float, name: str, reason: str) -> Iterator[str]:
    yield arrow((x, found - 7), (x, limit + 9), colour=RED, weight=1.6, dashes="4 3")
    yield dot(x, limit, 5, fill=WHITE, stroke=INK)
    yield dot(x, found, 5, fill=INK)
    yield text(x + 12, found + 4, name, bold=True, room=70)
    yield text(x + 12, found + 20, reason, room=116)


def _programs() -> Iterator[str]:
    x = _LEFT + 96
    on_slope = _BOTTOM - (_BOTTOM - _ROOF) * 96 / (_RIDGE - _LEFT)
    yield from _program(x, on_slope, 282, "mvt", "reads its matrix")
    yield from _program(_LEFT + 226, _ROOF, 138, "gemm", "multiplies")
    chain = 232.0
    yield line((_LEFT + 214, chain), (_RIGHT, chain), colour=PURPLE, weight=3, dashes="7 4")
    yield text(_RIGHT, chain - 8, "chain of durbin", anchor="end", bold=True, room=140)
    yield from _program(_LEFT + 226, chain, 274, "durbin", "adds in order")


def _legend(y: float) -> Iterator[str]:
    rows = (
        (352.0, dot(352, y - 4, 5, fill=INK), "measured"),
        (448.0, dot(448, y - 4, 5, fill=WHITE, stroke=INK), "limit"),
    )
    for x, point, words in rows:
        yield point
        yield text(x + 12, y, words, room=80)
    yield arrow((510, y - 4), (540, y - 4), colour=RED, weight=1.6, dashes="4 3")
    yield text(546, y, "not found yet", room=150)


def _shapes() -> Iterator[str]:
    yield from _formula()
    yield from _roof()
    yield from _programs()
    yield from _legend(370)


DIAGRAM = Diagram(
    "limit",
    "The limit of a program: compute, memory and chains",
    "Left: compute is operations over their rate, memory is bytes over bandwidth, a chain is "
    "operations that wait for each other times latency; the limit is the largest. Right: a "
    "roofline. The compute roof binds gemm, the memory slope mvt, and durbin stays below both, "
    "under its chain of additions.",
    390,
    tuple(_shapes()),
)
