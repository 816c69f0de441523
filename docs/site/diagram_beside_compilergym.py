"""Diagram of what an action changes: in CompilerGym the passes of LLVM, in polygym the loops."""

from collections.abc import Iterator

from docs.site.diagram_shapes import (
    GREY,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    Diagram,
    arrow,
    box,
    heading,
    line,
)

_Box = tuple[str, tuple[str, ...]]

_COMPILERGYM: tuple[_Box, ...] = (
    ("Program", ("any control flow,", "as LLVM code")),
    ("Action", ("a pass of LLVM,", "in any order")),
    ("LLVM code", ("of the whole", "program")),
    ("Reward", ("code size, or time", "of a benchmark")),
)
_POLYGYM: tuple[_Box, ...] = (
    ("Loop program", ("affine loops", "as C")),
    ("Action", ("allowed change of", "order or mapping")),
    ("New loops", ("legal by proof,", "compiled at -O3")),
    ("Reward", ("speedup; outputs", "are compared")),
)
_FILLS = (GREY, LIGHT_ORANGE, LIGHT_BLUE, LIGHT_GREEN)


def _row(top: float, title: str, boxes: tuple[_Box, ...]) -> Iterator[str]:
    yield heading(16, top, title)
    for number, ((head, rows), fill) in enumerate(zip(boxes, _FILLS, strict=True)):
        x = 16.0 + 182 * number
        yield box(x, top + 14, 142, 78, head, rows, fill=fill)
        if number:
            yield arrow((x - 38, top + 53), (x - 2, top + 53))


def _shapes() -> Iterator[str]:
    yield from _row(32, "CompilerGym", _COMPILERGYM)
    yield line((16, 142), (704, 142), colour="#c3cad3")
    yield from _row(174, "polygym", _POLYGYM)


DIAGRAM = Diagram(
    "beside-compilergym",
    "What an action of CompilerGym and of polygym changes",
    "CompilerGym: a program with any control flow, as LLVM code; an action is a pass of LLVM; the "
    "reward is code size or the time of a benchmark. polygym: a program of affine loops, as C; an "
    "action is an allowed change of the order or the mapping; the new loops are legal by proof and "
    "compiled at -O3; the reward is a speedup, and outputs are compared.",
    284,
    tuple(_shapes()),
)
