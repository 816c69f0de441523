"""Diagram of the data flow of polygym, and of the agent that decides on it, for the README."""

from collections.abc import Iterator
from itertools import pairwise

from docs.site.diagram_shapes import (
    FAINT,
    GREY,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    LIGHT_PURPLE,
    LIGHT_RED,
    Diagram,
    arrow,
    box,
    text,
)

_WIDTH, _HEIGHT = 150.0, 84.0
_COLUMNS = (16.0, 195.0, 374.0, 554.0)
_TOP, _MIDDLE, _BOTTOM = 20.0, 166.0, 312.0


def _boxes() -> Iterator[str]:
    stages = (
        (0, _TOP, "C or comprehension", ("for (i…) for (j…)", "A[i][j] = …"), GREY, "input"),
        (1, _TOP, "Scop", ("domains, accesses,", "statement bodies"), LIGHT_BLUE, "frontend"),
        (2, _TOP, "Dependences", ("which instances", "keep their order"), LIGHT_BLUE, "poly"),
        (3, _TOP, "Space", ("vertices and rays of", "all legal rows"), LIGHT_BLUE, "poly.spaces"),
        (3, _BOTTOM, "Schedule", ("S[i, j] → [j, i]", "proved legal"), LIGHT_GREEN, "mdp"),
        (
            2,
            _BOTTOM,
            "Mapping, code",
            ("tiles, threads,", "vectors; LLVM"),
            LIGHT_ORANGE,
            "codegen",
        ),
        (1, _BOTTOM, "Outcome", ("time; outputs equal", "bit for bit?"), LIGHT_RED, "runtime"),
        (0, _BOTTOM, "Best schedule", ("as JSON and C,", "to replay and use"), GREY, "search"),
    )
    for column, y, title, rows, fill, package in stages:
        x = _COLUMNS[column]
        yield box(x, y, _WIDTH, _HEIGHT, title, rows, fill=fill)
        yield text(x + _WIDTH / 2, y + _HEIGHT + 17, package, anchor="middle", fill=FAINT, room=150)


def _arrows() -> Iterator[str]:
    for left, right in pairwise(_COLUMNS):
        start, end = left + _WIDTH + 3, right - 3
        yield arrow((start, _TOP + _HEIGHT / 2), (end, _TOP + _HEIGHT / 2), weight=2)
        yield arrow((end, _BOTTOM + _HEIGHT / 2), (start, _BOTTOM + _HEIGHT / 2), weight=2)


def _agent() -> Iterator[str]:
    x, width = _COLUMNS[1], _COLUMNS[2] + _WIDTH - _COLUMNS[1]
    rows = ("random, a search, a trained network",)
    yield box(x, _MIDDLE, width, _HEIGHT, "Agent", rows, fill=LIGHT_PURPLE)
    yield text(x - 10, _MIDDLE + _HEIGHT / 2 + 4, "agents, search", anchor="end", fill=FAINT)
    right, space = x + width, _COLUMNS[3] + _WIDTH / 2
    upper, lower = _MIDDLE + 26, _MIDDLE + 58
    yield arrow((space, _TOP + _HEIGHT + 24), (space, upper), (right + 3, upper), weight=2)
    yield text(space - 10, upper - 8, "observation", anchor="end", room=90)
    yield arrow((right + 3, lower), (space, lower), (space, _BOTTOM - 3), weight=2)
    yield text(space - 10, lower + 17, "actions", anchor="end", room=90)
    outcome = _COLUMNS[1] + 40
    yield arrow((outcome, _BOTTOM - 3), (outcome, _MIDDLE + _HEIGHT + 3), weight=2)
    yield text(outcome + 10, _MIDDLE + _HEIGHT + 36, "reward: the speedup", room=150)


def _shapes() -> Iterator[str]:
    yield from _boxes()
    yield from _arrows()
    yield from _agent()


DIAGRAM = Diagram(
    "pipeline",
    "Data flow of polygym, and the agent that decides on it",
    "C text or a comprehension becomes a Scop, its dependences and the space of all legal rows. An "
    "agent observes the space and chooses a schedule by its actions. Under a mapping the schedule "
    "becomes machine code, whose outcome gives the reward. The best one is kept as JSON and C.",
    430,
    tuple(_shapes()),
)
