"""A bounded dictionary: the least recently used entry goes when it is full."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

REMEMBERED_PROGRAMS = 256
"""Of so many programs their facts are remembered: more than a training goes round."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """Answers by key, at most ``size`` of them; the least recently used goes first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._answers: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key, compute: Callable[[], Value]) -> Value:
        """Return the remembered answer, or compute and remember it."""
        if key in self._answers:
            self._answers.move_to_end(key)
            return self._answers[key]
        answer = compute()
        self.put(key, answer)
        return answer

    def put(self, key: Key, answer: Value) -> None:
        """Remember an answer in the place of the one that is known, if any."""
        self._answers[key] = answer
        self._answers.move_to_end(key)
        if len(self._answers) > self._size:
            self._answers.popitem(last=False)

    def __len__(self) -> int:
        """Return how many answers are remembered."""
        return len(self._answers)
