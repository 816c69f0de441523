"""Diagram of a mapping: the tree of a matrix product, its tiles, threads, vectors and registers.

The plan is that of gemm under isl's schedule and ``threads=2 tile=32 unroll_jam=4 vector_copies=2
vector_bits=256``, as ``polygym show gemm --after plan`` prints it.
"""

from collections.abc import Iterator
from itertools import product

from docs.site.diagram_shapes import (
    FAINT,
    GREY,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    LIGHT_PURPLE,
    LIGHT_SKY,
    PURPLE,
    RED,
    WHITE,
    Diagram,
    arrow,
    box,
    heading,
    line,
    lines,
    rectangle,
    text,
)

_MATRIX_X, _TILE_X = 80.0, 288.0
_ROW_COLOURS = (LIGHT_SKY, LIGHT_ORANGE, LIGHT_SKY, LIGHT_ORANGE)


def _link(x: float, y: float, to_x: float, to_y: float) -> str:
    return line((x, y), (to_x, to_y), weight=1.2)


def _schedule_tree() -> Iterator[str]:
    yield heading(16, 32, "Schedule tree")
    yield box(38, 46, 140, 28, rows=("Band(i, j, k)",), fill=LIGHT_SKY, mono=True)
    yield _link(108, 74, 108, 88)
    yield box(58, 88, 100, 26, rows=("Sequence",), fill=GREY, mono=True)
    yield _link(90, 114, 56, 130)
    yield _link(126, 114, 160, 130)
    yield box(16, 130, 84, 28, rows=("S0: Leaf",), fill=WHITE, mono=True)
    yield box(116, 130, 84, 28, rows=("S1: Leaf",), fill=WHITE, mono=True)


def _tiled_tree() -> Iterator[str]:
    yield arrow((216, 92), (286, 92), weight=2.2)
    yield text(251, 84, "tile=32", anchor="middle", mono=True)
    yield heading(300, 32, "Tiles outside, points inside")
    words = ("Band(⌊i/32⌋, ⌊j/32⌋, ⌊k/32⌋)",)
    yield box(370, 46, 240, 28, rows=words, fill=LIGHT_SKY, mono=True)
    yield _link(490, 74, 490, 88)
    yield box(440, 88, 100, 26, rows=("Sequence",), fill=GREY, mono=True)
    yield _link(470, 114, 388, 130)
    yield _link(510, 114, 592, 130)
    yield box(300, 130, 160, 28, rows=("S0: Band(i, j)",), fill=LIGHT_PURPLE, mono=True)
    yield box(500, 130, 190, 28, rows=("S1: Band(i, j, k)",), fill=LIGHT_PURPLE, mono=True)


def _matrix(x: float, y: float) -> Iterator[str]:
    yield heading(x, y - 28, "Tiles and threads", room=180)
    yield text(x, y - 9, "C in tiles of 32 by 32", room=150)
    for row, column in product(range(4), range(4)):
        place = x + 34 * column, y + 34 * row
        yield rectangle(*place, 34, 34, fill=_ROW_COLOURS[row], stroke=FAINT, radius=0)
    yield rectangle(x + 34, y + 34, 34, 34, stroke=RED, radius=0, weight=2.4)
    for row in range(4):
        label = f"thread {row % 2}"
        yield text(x - 8, y + 21 + 34 * row, label, anchor="end", room=x - 24)


def _tile(x: float, y: float) -> Iterator[str]:
    yield heading(x, y - 28, "One tile", room=180)
    yield text(x, y - 9, "in blocks of rows and vectors", room=186)
    corner = _MATRIX_X + 68
    yield line((corner, y + 34), (x, y), colour=RED, weight=1, dashes="3 3")
    yield line((corner, y + 68), (x, y + 136), colour=RED, weight=1, dashes="3 3")
    yield rectangle(x, y, 136, 136, fill=LIGHT_ORANGE, stroke=RED, radius=0, weight=2.4)
    for row, column in product(range(8), range(4)):
        yield rectangle(x + 34 * column, y + 17 * row, 34, 17, radius=0, weight=0.5)
    yield rectangle(x + 34, y + 51, 34, 17, fill=LIGHT_GREEN, stroke=PURPLE, radius=0, weight=2.4)


def _block(x: float, y: float) -> Iterator[str]:
    yield heading(x, y - 28, "One block, in registers", room=230)
    yield text(x, y - 9, "4 rows i, 2 vectors of 4 doubles", room=222)
    corner = _TILE_X + 68
    yield line((corner, y + 51), (x, y), colour=PURPLE, weight=1, dashes="3 3")
    yield line((corner, y + 68), (x, y + 106), colour=PURPLE, weight=1, dashes="3 3")
    for row, vector in product(range(4), range(2)):
        left, top = x + 92 * vector, y + 27 * row
        yield rectangle(left, top, 90, 25, fill=LIGHT_GREEN, stroke=PURPLE, radius=3, weight=1.8)
        for lane in range(1, 4):
            yield line((left + 22.5 * lane, top + 3), (left + 22.5 * lane, top + 22), weight=0.6)
    yield arrow((x, y + 122), (x + 182, y + 122), weight=1.2, head=7)
    yield text(x + 188, y + 126, "j", mono=True)
    yield arrow((x + 190, y), (x + 190, y + 104), weight=1.2, head=7)
    yield text(x + 197, y + 56, "i", mono=True)


def _loops(y: float) -> Iterator[str]:
    yield heading(16, y, "Loops of S1")
    rows = (
        ("for ⌊i/32⌋", "threads: independent tiles", LIGHT_SKY),
        ("  for ⌊j/32⌋", "tiles: their data stay in a cache", LIGHT_ORANGE),
        ("    for ⌊k/32⌋", "", LIGHT_ORANGE),
        ("      for i step 4", "jammed: 4 rows share each read of B", LIGHT_GREEN),
        ("        for j step 8", "vector: neighbours in memory, 2 vectors", LIGHT_GREEN),
        ("          for k", "held: the block of C stays in registers", LIGHT_PURPLE),
        ("            C[4 rows][2 vectors] += alpha * A[i][k] * B[k][2 vectors]", "", WHITE),
    )
    for number, (code, role, fill) in enumerate(rows):
        top = y + 12 + 21 * number
        yield rectangle(16, top, 688, 19, fill=fill, stroke="none", radius=3)
        yield lines(24, top + 14, (code,), mono=True, room=674)
        if role:
            yield text(330, top + 14, role, room=370)


def _shapes() -> Iterator[str]:
    yield from _schedule_tree()
    yield from _tiled_tree()
    yield line((16, 176), (704, 176), colour="#c3cad3")
    yield from _matrix(_MATRIX_X, 236)
    yield from _tile(_TILE_X, 236)
    yield from _block(488, 236)
    yield line((16, 392), (704, 392), colour="#c3cad3")
    yield from _loops(416)


DIAGRAM = Diagram(
    "mapping",
    "From a schedule tree to loops: tiles, threads, vectors and registers of a matrix product",
    "The schedule tree of gemm becomes a band of tiles around bands of points. Rows of tiles of C "
    "run in threads. A tile consists of blocks of 4 rows and 2 vectors, and a block stays in "
    "registers while k runs. The loops, from the outside: threads, tiles, jammed, vector, held.",
    590,
    tuple(_shapes()),
)
