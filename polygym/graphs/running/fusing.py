"""Whether functions of elements are computed in the kernel of what comes before them.

Fused, they spare writing a result and reading it again; but within a convolution by windows they
take registers from its sums. Where all three have been timed the clock decides: the kernel of both
against that of the product alone and that of the functions alone, each in its fastest form. Where
they have not (:mod:`polygym.graphs.running.tuned` times them), a rule expects what is faster.

Example: relu(conv(x, w)) takes 310 µs in one kernel; the convolution alone takes 280 µs, and relu
alone 20 µs. So there are two kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from polygym.graphs.ir.types import DTYPES
from polygym.graphs.running.forms import Forms
from polygym.graphs.running.groups import Group, grouped, nest_of
from polygym.graphs.running.lowering import Traced
from polygym.graphs.running.operations import Operation
from polygym.graphs.running.texts import text_of
from polygym.graphs.running.views import Source
from polygym.pickles import pickled_by_name

__all__ = ["Choice", "Fusing", "Times", "choices", "expected", "times_of"]

_SLOWER, _OPERATIONS = 0.035, 1e11
"""By which share such a convolution is slower, and its operations a second."""

_CACHE, _CACHED, _STREAMED = 2_000_000, 4e10, 1e10
"""Bytes that stay in a cache between two kernels, and bytes a second from there and from memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """An operation and functions of elements that follow it: in one kernel, or in two."""

    together: Group
    alone: Group
    rest: Group

    @property
    def texts(self) -> tuple[str, str, str]:
        """The texts of the three kernels, by which their times are kept."""
        together, alone, rest = (text_of(nest_of(one)[0]) for one in self.groups)
        return together, alone, rest

    @property
    def groups(self) -> tuple[Group, Group, Group]:
        """What the one kernel does, and what the two do."""
        return self.together, self.alone, self.rest

    @property
    def expected(self) -> bool:
        """Whether one kernel is expected to be faster."""
        assert self.alone.head is not None
        return expected(self.alone.head)


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of the one kernel, and of the two that do the same."""

    together: float
    alone: float
    rest: float

    @property
    def pays(self) -> bool:
        """Whether the one is the faster."""
        return self.together <= self.alone + self.rest


def expected(one: Operation) -> bool:
    """Whether functions of elements that follow are expected to be faster in the same kernel.

    Within a convolution by windows of several elements they cost a share of it; by themselves, the
    time of reading and writing its result once more, from the caches or from memory.
    """
    if one.head != "conv" or one.operands[1].shape[2:] == (1, 1):
        return True
    elements = prod(one.result.shape)
    inside = _SLOWER * 2 * elements * prod(one.operands[1].shape[1:]) / _OPERATIONS
    moved = 2 * elements * DTYPES[one.result.dtype]
    return inside < moved / (_CACHED if moved < _CACHE else _STREAMED)


def times_of(choice: Choice, forms: Forms) -> Times | None:
    """Return what was measured, None where any of the three was not, or does not run."""
    found: list[float] = []
    for group in reversed(choice.groups):  # the shortest text comes first
        seconds = forms.seconds(text_of(nest_of(group)[0]))
        if seconds is None:
            return None
        found.append(seconds)
    rest, alone, together = found
    return Times(together, alone, rest)


@dataclass(frozen=True)
class Fusing:
    """What is faster for operations of one model; what is alike is asked once.

    A text says what a kernel computes and not of which arrays, so it is the same for operations and
    functions that are the same and read alike: blocks of a network are.
    """

    forms: Forms
    _known: dict[Any, bool] = field(default_factory=dict)

    def pays(self, one: Operation, group: Group) -> bool:
        """Whether an operation is faster in the kernel of what follows.

        By the clock, or as expected where it has not said.
        """
        if not len(self.forms.store):
            return expected(one)
        key = _likeness([one, *group.members])
        found = self._known.get(key)
        if found is None:
            times = times_of(_choice(one, group), self.forms)
            found = self._known[key] = expected(one) if times is None else times.pays
        return found


def _likeness(operations: Sequence[Operation]) -> Any:
    """Return what is equal for operations that are equal but for which arrays they are of."""
    numbers: dict[Source, int] = {}

    def of(source: Source) -> tuple[int, tuple[int, ...], str]:
        return numbers.setdefault(source, len(numbers)), source.shape, source.dtype

    return tuple(
        (
            one.head,
            tuple(map(repr, one.literals)),
            tuple(
                (of(view.source), view.start, view.extents, view.along, view.shape)
                for view in one.operands
            ),
            of(one.result),
        )
        for one in operations
    )


def choices(model: Traced) -> list[Choice]:
    """Return all choices in a model, whichever way the others are decided.

    Of two products whose results are added, say, the second one may be where the sum is, or the
    first one if the second is not.
    """
    found: dict[Any, Choice] = {}
    for answer in (True, False):
        for one in _asked(model, answer):
            found.setdefault(_likeness(one.together.members), one)
    different: dict[tuple[str, str, str], Choice] = {}
    for one in found.values():
        different.setdefault(one.texts, one)
    return list(different.values())


def _asked(model: Traced, answer: bool) -> Iterable[Choice]:
    asked: list[Choice] = []

    def pays(one: Operation, group: Group) -> bool:
        asked.append(_choice(one, group))
        return answer

    grouped(model.operations, {view.source for view in model.outputs}, pays)
    return asked


def _choice(one: Operation, group: Group) -> Choice:
    rest = Group(group.root, list(group.members))
    return Choice(Group(group.root, [one, *group.members], one), Group(one, [one], one), rest)
