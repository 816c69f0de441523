"""Memo of results while the schedules of a program are planned under many mappings.

Planning asks again and again what does not depend on the mapping, or on a part of it alone: how
accesses move, which pairs are still unordered below some loops, which loop runs in vectors. With a
memory such questions are answered once, also those that a schedule's tree was built by, and those
of another schedule with the same loops. It belongs to one program and one process, and is handed in
by who plans many mappings; without one every answer is worked out, so that the effort that a plan
takes never depends on what was planned before.
"""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Answer = TypeVar("Answer")

_MAX_ANSWERS = 20_000


class PlanningMemo:
    """Answers by question; a question names who asks and all that the answer depends on."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._known: dict[Hashable, Any] = {}

    def get_or_compute(self, question: Hashable, answer: Callable[[], Answer]) -> Answer:
        """Return the answer to a question, which is worked out if it is new."""
        try:
            result: Answer = self._known[question]
        except KeyError:
            result = answer()
            if len(self._known) >= _MAX_ANSWERS:
                self._known.clear()
            self._known[question] = result
        return result


class NoMemo(PlanningMemo):
    """A memory that keeps nothing."""

    def get_or_compute(self, question: Hashable, answer: Callable[[], Answer]) -> Answer:
        """Work the answer out."""
        return answer()


NO_MEMO = NoMemo()
"""No memory."""
