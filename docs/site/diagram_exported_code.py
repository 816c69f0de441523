"""Diagram of exported code: the user's file, the dispatch of the kernel, the fallback."""

from collections.abc import Iterator

from docs.site.diagram_shapes import (
    FAINT,
    GREEN,
    GREY,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    RED,
    Diagram,
    arrow,
    box,
    heading,
    text,
)

_TESTS = ("CPU has the instructions", "sizes are in the context", "written arrays are disjoint")
_TEST_X, _TEST_WIDTH = 262.0, 206.0


def _file() -> Iterator[str]:
    yield heading(16, 32, "The user's file")
    yield box(16, 46, 200, 48, rows=("if (blur_kernel(a, b, n))",), fill=LIGHT_BLUE, mono=True)
    yield box(16, 206, 200, 62, "Loops of the source", ("compiled as before",), fill=GREY)
    yield arrow((218, 62), (_TEST_X - 2, 62))
    yield text(240, 52, "call", anchor="middle", room=40)
    yield arrow((116, 96), (116, 204), colour=RED, weight=2)
    yield text(124, 156, "1: not run", room=90)


def _dispatch() -> Iterator[str]:
    yield heading(_TEST_X, 32, "The kernel: dispatch")
    for number, test in enumerate(_TESTS):
        y = 46.0 + 56 * number
        yield box(_TEST_X, y, _TEST_WIDTH, 34, rows=(test,), fill=LIGHT_ORANGE)
        if number:
            yield arrow((_TEST_X + 103, y - 20), (_TEST_X + 103, y - 2), colour=GREEN)
    yield arrow((_TEST_X - 2, 175), (128, 200), colour=RED, dashes="5 3")
    yield text(_TEST_X, 222, "Any test fails: return 1;", fill=FAINT, room=206)
    yield text(_TEST_X, 240, "nothing has been written.", fill=FAINT, room=206)


def _loops() -> Iterator[str]:
    yield heading(514, 32, "Loops: return 0")
    yield box(514, 46, 190, 62, "n == 2000", ("constant sizes",), fill=LIGHT_GREEN)
    yield box(514, 140, 190, 62, "all other n", ("the same schedule",), fill=LIGHT_GREEN)
    yield arrow((470, 172), (512, 86), colour=GREEN)
    yield arrow((470, 178), (512, 172), colour=GREEN)


DIAGRAM = Diagram(
    "exported-code",
    "Exported code: the call, the dispatch of the kernel, the loops of the source as fallback",
    "The user's file calls the kernel. The kernel tests the processor, the sizes and the overlap "
    "of arrays. If all tests hold, it runs loops for known sizes or for all sizes and returns "
    "0. If a test fails it returns 1, and the loops of the source run.",
    286,
    (*_file(), *_dispatch(), *_loops()),
)
