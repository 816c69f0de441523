"""Diagram of an episode: construction of a space under masks, exploration of it, the reward.

The episode is one of ``polygym/Schedule-v0`` with ``max_dimensions=2`` on y = Ax:
``S: y[i] = 0; T: y[i] += A[i][j] * x[j]``. Dependence 1 is T to T, dependence 2 is S to T. States
and masks are those of the environment, and the schedule is legal.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from docs.site.diagram_shapes import (
    BLUE,
    FAINT,
    GREY,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    LIGHT_PURPLE,
    WHITE,
    Diagram,
    arrow,
    box,
    heading,
    line,
    rectangle,
    text,
)

ACTIONS = ("next_dim", "next_dep", "select_dep")


@dataclass(frozen=True, slots=True)
class Step:
    """A state of the construction, the actions that its mask allows, and the one that is taken."""

    state: str
    allowed: tuple[int, ...]
    taken: int


STEPS = (
    Step("(1, 1, 0, 0)", (0, 1, 2), 1),
    Step("(1, 2, 0, 0)", (0, 1, 2), 2),
    Step("(1, 2, 0, 1)", (0, 1), 0),
    Step("(2, 2, 0, 1)", (1,), 1),
    Step("(2, 1, 0, 1)", (2,), 2),
)
"""An episode that carries S to T in the first dimension and T to T in the second one."""

SCHEDULE = "S[i] -> [i - 1, 0]; T[i, j] -> [i, j]"

_CELL = 22.0


def _phases() -> Iterator[str]:
    top, height = 16.0, 56.0
    phases = (
        (16.0, 116.0, "Storage", "storage=True", WHITE, True),
        (154.0, 128.0, "Construct", "which dimension", LIGHT_BLUE, False),
        (304.0, 128.0, "Explore", "which coefficients", LIGHT_ORANGE, False),
        (454.0, 128.0, "Map", "Optimize-v0 only", WHITE, True),
        (604.0, 100.0, "Judge", "the reward", LIGHT_GREEN, False),
    )
    for x, width, title, words, fill, is_optional in phases:
        yield box(x, top, width, height, title, (words,), fill=fill, dashed=is_optional)
        if x > 16:
            yield arrow((x - 21, top + height / 2), (x - 2, top + height / 2))
    yield text(293, 90, "or: edits of a given schedule", anchor="middle", fill=FAINT)


def _action(x: float, y: float, number: int, step: Step) -> Iterator[str]:
    is_taken, is_allowed = number == step.taken, number in step.allowed
    fill = BLUE if is_taken else LIGHT_BLUE if is_allowed else GREY
    yield rectangle(x, y, 104, _CELL - 3, fill=fill, stroke="none", radius=3)
    colour = WHITE if is_taken else "#1f2933" if is_allowed else "#6b7785"
    words = ACTIONS[number]
    yield text(x + 52, y + 14, words, anchor="middle", mono=True, fill=colour, room=104)
    if not is_allowed:
        yield line((x + 8, y + 9.5), (x + 96, y + 9.5), colour="#6b7785", weight=1)


def _construction() -> Iterator[str]:
    top = 116.0
    yield heading(16, top, "Construct: each dependence gets a dimension that carries it")
    words = "state (dimension, dependence, carried: T → T, S → T)"
    yield text(16, top + 20, words, fill=FAINT, room=420)
    for number, step in enumerate(STEPS):
        x, y = 16 + 144 * number, top + 32
        yield rectangle(x, y, 112, 94, fill=WHITE)
        yield text(x + 56, y + 17, step.state, anchor="middle", mono=True, room=108)
        for action in range(3):
            yield from _action(x + 4, y + 25 + _CELL * action, action, step)
        if number:
            yield arrow((x - 30, y + 47), (x - 2, y + 47))
    yield from _legend(470, top + 20)


def _legend(x: float, y: float) -> Iterator[str]:
    for start, fill, words in (
        (x, BLUE, "taken"),
        (x + 74, LIGHT_BLUE, "allowed"),
        (x + 162, GREY, "masked"),
    ):
        yield rectangle(start, y - 11, 14, 14, fill=fill, stroke="none", radius=2)
        yield text(start + 20, y, words, room=54)


def _row(y: float, number: int, terms: tuple[str, ...], result: str) -> Iterator[str]:
    yield text(16, y + 20, f"dimension {number}", bold=True, room=96)
    x = 116.0
    for position, (words, width) in enumerate(zip(terms, (112.0, 150.0, 112.0), strict=True)):
        fill = LIGHT_PURPLE if position == 0 else LIGHT_ORANGE
        yield box(x, y, width, 30, rows=(words,), fill=fill)
        x += width + 18
        yield text(x - 9, y + 20, "+" if position < 2 else "…", anchor="middle", room=18)
    yield arrow((x + 4, y + 15), (x + 30, y + 15))
    yield text(x + 38, y + 20, result, mono=True, room=700 - x - 38)


def _exploration() -> Iterator[str]:
    top = 276.0
    yield heading(16, top, "Explore: a coefficient for each ray (and vertex, if several)")
    yield from _row(
        top + 14, 1, ("vertex S: -1", "1 · (S: i, T: i)", "0 · (T: j)"), "S: i - 1, T: i"
    )
    yield from _row(top + 54, 2, ("vertex T: j", "0 · (S: i)", "0 · (T: i)"), "S: 0, T: j")
    yield text(16, top + 112, "schedule", bold=True, room=96)
    yield text(116, top + 112, SCHEDULE, mono=True, room=360)
    yield text(420, top + 112, "legal for every choice of coefficients", fill=FAINT, room=284)


def _judgement() -> Iterator[str]:
    top = 420.0
    yield heading(16, top, "Judge: the reward comes once, at the end")
    y = top + 14
    yield box(16, y, 150, 60, "Compile", ("default mapping, or", "the one decided"), fill=GREY)
    yield arrow((168, y + 30), (196, y + 30))
    yield box(198, y, 150, 60, "Run", ("beside the original,", "outputs compared"), fill=GREY)
    yield arrow((350, y + 30), (378, y + 30))
    yield box(380, y, 124, 60, "speedup", ("or its logarithm",), fill=LIGHT_GREEN)
    yield text(520, y + 35, "or", room=20)
    rows = ("static score, or the", "model's prediction")
    yield box(548, y, 156, 60, "without a clock", rows, fill=WHITE, dashed=True)


def _shapes() -> Iterator[str]:
    yield from _phases()
    yield from _construction()
    yield from _exploration()
    yield from _judgement()


DIAGRAM = Diagram(
    "environments",
    "Phases of an episode on y = Ax, and the judge at its end",
    "Phases: storage (optional), construct, explore, map (Optimize-v0), judge. Construction shows "
    "five states with the actions next_dim, next_dep, select_dep, of which the mask allows some. "
    "Exploration adds multiples of rays to a vertex; the result is the schedule "
    f"{SCHEDULE}. The judge runs it beside the original order and gives the speedup.",
    512,
    tuple(_shapes()),
)
