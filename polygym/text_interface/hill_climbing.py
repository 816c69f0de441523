"""Hill climbing over the text protocol, by the explanations: a scripted agent.

The agent sends lines and reads replies; it knows nothing else of the program. It asks for the legal
steps, proposes steps that may be illegal, takes the repair that a refusal names, measures, and
keeps what is faster::

    check tile L1 L2 32 32     illegal: …          Try: skew L2 L1 1, then tile L1 L2 32 32
    skew L2 L1 1               ok
    tile L1 L2 32 32           ok
    measure                    ok: …               kept, or undone twice

A language model in its place sees the same texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from polygym.text_interface.replies import TRY
from polygym.text_interface.step_lists import THEN

Talk: TypeAlias = Callable[[str], tuple[str, str]]
"""Sends a line; returns the status and the text of the reply."""

LEAST_GAIN = 1.05
"""A program must be so many times as fast as the best so far to be kept."""

_WORTH = re.compile(r"^ok: .* speedup ([0-9.]+)|^not measured: score ([0-9.]+)", re.MULTILINE)
_NODE = re.compile(r"^( *)([LS]\w*): ", re.MULTILINE)
_EVALUATIONS = re.compile(r"(\d+) evaluations")
_BLOCKS = (32, 64)
_KINDS = (
    "interchange", "fuse", "parallel", "unroll_jam", "vectorize", "distribute", "store", "tile",
    "reorder",
)  # fmt: skip
_MOST_REFUSED = 200


@dataclass(frozen=True, slots=True)
class Climb:
    """The end of a climb: the best worth, and the steps that lead to it."""

    worth: float
    steps: tuple[str, ...]


def climb(talk: Talk, rng: np.random.Generator) -> Climb:
    """Transform a program until the budget is used up; the session ends with its best program."""
    climber = _Climber(talk, rng)
    climber.run()
    talk("stop")
    return Climb(climber.best, tuple(climber.steps))


class _Climber:
    """The state of a climb: the best worth, the steps that are kept, the proposals that failed."""

    def __init__(self, talk: Talk, rng: np.random.Generator) -> None:
        self._talk = talk
        self._rng = rng
        self.best = 0.0
        self.steps: list[str] = []
        self._tried: set[tuple[tuple[str, ...], str]] = set()
        self._proposals: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._is_done = False

    def run(self) -> None:
        """Measure the source, then try proposals until none is left."""
        self._measure()
        refused = 0
        while not self._is_done and refused < _MOST_REFUSED:
            proposal = self._proposal()
            if proposal is None:
                return
            self._tried.add((tuple(self.steps), proposal))
            refused = 0 if self._try(proposal) else refused + 1

    def _proposal(self) -> str | None:
        """Return a step that has not been tried here: a wish first, or one proposal in three."""
        here = tuple(self.steps)
        if here not in self._proposals:
            self._proposals = {here: (*self._wishes(), *self._legal())}
        fresh = [step for step in self._proposals[here] if (here, step) not in self._tried]
        if not fresh:
            return None
        if self._rng.random() < 1 / 3:
            return fresh[int(self._rng.integers(len(fresh)))]
        return fresh[0]

    def _wishes(self) -> list[str]:
        """Return fusions of neighbours and tiles of perfect nests, legal or not."""
        _, text = self._talk("show program")
        bodies: dict[str, list[str]] = {}
        around: list[str] = []
        for match in _NODE.finditer(text):
            del around[len(match[1]) // 2 :]
            bodies.setdefault(around[-1] if around else "", []).append(match[2])
            around.append(match[2])
        wishes = [
            f"fuse {first} {second}"
            for body in bodies.values()
            for first, second in pairwise(body)
            if first in bodies and second in bodies
        ]
        for outer, body in bodies.items():
            if outer and len(body) == 1 and body[0] in bodies:
                wishes += [f"tile {outer} {body[0]} {size} {size}" for size in _BLOCKS]
        return wishes

    def _legal(self) -> list[str]:
        """Return legal steps of the kinds that may make a program faster, in a random order."""
        found = []
        for kind in _KINDS:
            _, text = self._talk(f"steps {kind}")
            found += [line.strip() for line in text.splitlines()[1:]]
        return [found[place] for place in self._rng.permutation(len(found))]

    def _try(self, proposal: str) -> bool:
        """Take a proposal, or the repair that its refusal names; return whether it was measured."""
        status, text = self._talk(f"check {proposal}")
        steps: Sequence[str] = (proposal,)
        if status == "illegal":
            steps = repair_of(text)
        elif status != "ok":
            steps = ()
        taken = []
        for step in steps:
            if self._say(step) != "ok":
                break
            taken.append(step)
        if not taken or len(taken) < len(steps):
            self._undo(len(taken))
            return False
        worth = self._measure()
        if worth > self.best * LEAST_GAIN:
            self.best = worth
            self.steps += taken
        else:
            self._undo(len(taken))
        return True

    def _say(self, line: str) -> str:
        status, _ = self._talk(line)
        self._is_done = self._is_done or status in ("no budget", "over")
        return status

    def _undo(self, count: int) -> None:
        for _ in range(count):
            self._say("undo")

    def _measure(self) -> float:
        """Return the worth of the program as it is, 0 if it failed."""
        status, text = self._talk("measure")
        left = _EVALUATIONS.search(text)
        # One evaluation is kept: the last lines may still be undone.
        self._is_done = self._is_done or status != "ok" or (left is not None and int(left[1]) <= 1)
        found = _WORTH.search(text)
        worth = float(found[1] or found[2]) if found else 0.0
        if not self.steps and not self.best:
            self.best = worth
        return worth


def repair_of(text: str) -> tuple[str, ...]:
    r"""Return the steps of the first repair that a refusal names.

    >>> repair_of("illegal: ...\nTry: skew L2 L1 1, then tile L1 L2 32 32")
    ('skew L2 L1 1', 'tile L1 L2 32 32')
    """
    for line in text.splitlines():
        if line.startswith(TRY):
            return tuple(line.removeprefix(TRY).split(THEN))
    return ()
