"""Diagram of transformation steps: a loop tree, an illegal step, and the steps that make it legal.

The program is a wavefront, ``A[i][j] = A[i - 1][j + 1] + 1``. The distances of its dependence are
(1, -1), so the loops cannot change places before one of them is skewed.
"""

from collections.abc import Iterator

from docs.site.diagram_shapes import (
    FAINT,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    WHITE,
    Diagram,
    arrow,
    box,
    heading,
    text,
)

STEPS = ("skew L2 L1 1", "interchange L1 L2", "parallel L2 static")
"""Legal steps, one after the other; the second one alone is illegal."""

TREES = (
    ("L1 (S0: i)", "  L2 (S0: j)", "    S0"),
    ("L1 (S0: i)", "  L2 (S0: i + j)", "    S0"),
    ("L2 (S0: i + j)", "  L1 (S0: i)", "    S0"),
)
"""The loop tree before the first step, after it, and after the second one."""

_WIDTH = 176.0


def _tree(x: float, y: float, title: str, lines: tuple[str, ...], fill: str) -> Iterator[str]:
    yield box(x, y, _WIDTH, 96, fill=fill)
    yield text(x + 10, y + 20, title, bold=True, room=_WIDTH - 16)
    for number, line in enumerate(lines):
        indent = (len(line) - len(line.lstrip())) * 8
        yield text(
            x + 10 + indent, y + 44 + 20 * number, line.strip(), mono=True,
            room=_WIDTH - 16 - indent,
        )  # fmt: skip


def _shapes() -> Iterator[str]:
    yield heading(16, 22, "Steps on named loops: every state is a legal schedule")
    titles = ("source order", "after the skew", "after the interchange")
    fills = (WHITE, LIGHT_BLUE, LIGHT_GREEN)
    for number, (title, lines, fill) in enumerate(zip(titles, TREES, fills, strict=True)):
        x = 16 + number * (_WIDTH + 84)
        yield from _tree(x, 40, title, lines, fill)
        if number:
            yield arrow((x - 80, 88), (x - 3, 88))
            yield text(x - 42, 78, STEPS[number - 1].split()[0], anchor="middle", room=82)
    yield box(16, 160, 696, 74, fill=LIGHT_ORANGE)
    yield text(26, 182, "interchange L1 L2 at once is illegal:", bold=True, room=676)
    yield text(26, 203, "the schedule runs S0[2, 0] before S0[1, 1], but S0[1, 1] must come first",
               room=676)  # fmt: skip
    yield text(26, 223, "(flow dependence S0 → S0 on A, example with n = 3)", fill=FAINT, room=676)


DIAGRAM = Diagram(
    "transformations",
    "Transformation steps",
    "A skew makes the interchange of two loops legal; without it a dependence forbids it.",
    250,
    tuple(_shapes()),
)
