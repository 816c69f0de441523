"""Diagram of a derivation: the cost of each term, and what a value function expects at each step.

The steps, costs and values are those of ``polygym rewrite optimize '(mul (add x y) (add x y))'``
with ten steps: f = V(s, t) + c(s0) - c(s) never falls, while the cost rises and then falls.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from docs.site.diagram_shapes import (
    BLUE,
    FAINT,
    GREEN,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    RED,
    WHITE,
    Diagram,
    arrow,
    between,
    disc,
    dot,
    heading,
    line,
    lines,
    rectangle,
    text,
)


@dataclass(frozen=True, slots=True)
class State:
    """A term of the derivation, the rule that leads to it, its cost and expected saving."""

    rule: str
    term: str
    cost: float
    value: float


STATES = (
    State("", "(mul (add x y) (add x y))", 4.0, 0.9),
    State("bind", "(mul (let (t1 (add x y)) t1) (add x y))", 4.1, 1.0),
    State("lift", "(let (t1 (add x y)) (mul t1 (add x y)))", 4.1, 1.0),
    State("bind", "(let (t1 (add x y)) (mul t1 (let (t2 (add x y)) t2)))", 4.2, 1.1),
    State("lift", "(let (t1 (add x y)) (let (t2 (add x y)) (mul t1 t2)))", 4.2, 1.1),
    State("merge-lets", "(let (t1 (add x y)) (mul t1 t1))", 3.1, 0.0),
)

_ROWS, _STEP = 216.0, 32.0
_CHART = 508.0


def _link(x: float, y: float, to_x: float, to_y: float) -> str:
    return line(*between((x, y), (to_x, to_y), 13), weight=1.3)


def _sum(x: float, y: float, fill: str) -> Iterator[str]:
    yield _link(x, y, x - 24, y + 36)
    yield _link(x, y, x + 24, y + 36)
    yield disc(x, y, "+", fill=fill)
    yield disc(x - 24, y + 36, "x", fill=WHITE)
    yield disc(x + 24, y + 36, "y", fill=WHITE)


def _before() -> Iterator[str]:
    yield heading(16, 32, "Computed twice: cost 4.0", room=240)
    x, y = 128.0, 62.0
    yield _link(x, y, x - 56, y + 36)
    yield _link(x, y, x + 56, y + 36)
    yield disc(x, y, "*", fill=WHITE)
    yield from _sum(x - 56, y + 36, LIGHT_ORANGE)
    yield from _sum(x + 56, y + 36, LIGHT_ORANGE)


def _after() -> Iterator[str]:
    yield arrow((246, 98), (306, 98), weight=2.2)
    yield text(276, 90, "5 steps", anchor="middle", room=60)
    yield heading(330, 32, "Bound once: cost 3.1", room=210)
    x, y = 400.0, 62.0
    yield _link(x - 5, y, x - 5, y + 36)
    yield _link(x + 5, y, x + 5, y + 36)
    yield disc(x, y, "*", fill=WHITE)
    yield from _sum(x, y + 36, LIGHT_GREEN)
    words = ("costs: add 1, mul 2, let 0.1", "4.0 = 1 + 1 + 2", "3.1 = 0.1 + 1 + 2")
    yield lines(520, 72, words, room=184)


def _x(cost: float) -> float:
    return _CHART + (cost - 3.0) * 78


def _chart() -> Iterator[str]:
    top, bottom = _ROWS - 16, _ROWS + 5 * _STEP + 14
    yield text(_CHART + 48, _ROWS - 36, "cost c(s)", anchor="middle", bold=True, room=110)
    for cost in (3.0, 3.5, 4.0):
        colour = RED if cost == 4.0 else "#d5dae1"
        yield line((_x(cost), top), (_x(cost), bottom), colour=colour, weight=1, dashes="3 3")
        yield text(_x(cost), bottom + 15, f"{cost:.1f}", anchor="middle", room=30)
    places = [(_x(state.cost), _ROWS + _STEP * k - 2) for k, state in enumerate(STATES)]
    yield line(*places, colour=BLUE, weight=2)
    for number, place in enumerate(places):
        yield dot(*place, 4.5, fill=GREEN if number == len(places) - 1 else BLUE)


def _rows() -> Iterator[str]:
    for x, words in ((16.0, "rule"), (96.0, "term")):
        yield text(x, _ROWS - 36, words, bold=True)
    for x, words in ((636.0, "V(s, t)"), (692.0, "f")):
        yield text(x, _ROWS - 36, words, anchor="middle", bold=True, room=60)
    for number, state in enumerate(STATES):
        y = _ROWS + _STEP * number
        if number % 2 == 0:
            yield rectangle(12, y - 19, 696, _STEP, fill="#f4f6f8", stroke="none", radius=4)
        yield text(16, y + 2, state.rule, room=78)
        yield text(96, y + 2, state.term, mono=True, room=392)
        yield text(636, y + 2, f"{state.value:.1f}", anchor="middle")
        expected = state.value + STATES[0].cost - state.cost
        yield text(692, y + 2, f"{expected:.1f}", anchor="middle", bold=True)


def _shapes() -> Iterator[str]:
    yield from _before()
    yield from _after()
    yield line((16, 158), (704, 158), colour="#c3cad3")
    yield from _rows()
    yield from _chart()
    words = (
        "A* orders terms by f = V(s, t) + 4.0 - c(s). V estimates what the steps left save.",
        "So f stays at 0.9. A greedy search (V = 0) sees only the loss of the first four steps.",
    )
    yield lines(16, _ROWS + 6 * _STEP + 32, words, fill=FAINT, room=688)


DIAGRAM = Diagram(
    "terms",
    "Derivation of a shared sum: cost rises from 4.0 to 4.2, then falls to 3.1",
    "The term (mul (add x y) (add x y)) becomes (let (t1 (add x y)) (mul t1 t1)) in five steps: "
    "bind, lift, bind, lift, merge-lets. Costs: 4.0, 4.1, 4.1, 4.2, 4.2, 3.1. The value function "
    "expects 0.9, 1.0, 1.0, 1.1, 1.1, 0.0, so f is 0.9 at each step.",
    476,
    tuple(_shapes()),
)
