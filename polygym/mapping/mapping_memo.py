"""Answers about mappings, remembered by what was asked of the mapping to find them.

A plan for gemm never asks whether tiles may be diamonds, since its outermost loop is parallel as it
is; so the answer for one mapping is that for every other which differs in ``diamond`` alone. Nobody
has to say which entries matter: the mapping is watched while an answer is worked out, and what it
was asked, one question after the other, is kept as a tree ::

    is_tiled?
    ├─ yes   tile_for(3)?
    │        ├─ (32, 32, 32)   bits_of(512)?  …
    │        └─ None           bits_of(512)?  …
    └─ no    has_vectors?      …

Questions are entries, properties and methods of :class:`Mapping`. What a method asks of itself is
no further question: ``tile=32`` and ``tile=32x32`` are the same for three members.

Why that is right: an answer is worked out by what is deterministic, so what it asks next depends on
what it was told alone. A mapping that says the same as an earlier one to all that the earlier one
was asked would have been asked the same, with the same end.

It needs that nothing else decides about an answer, and that a memory which answers share
(:mod:`polygym.codegen.tree.planning_memo`) is asked by questions that hold all that they depend
on: whatever a mapping would be asked for an answer that is remembered, it was asked before.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Generic, TypeAlias, TypeVar

from polygym.mapping.mapping import Mapping

Answer = TypeVar("Answer")

_Question: TypeAlias = tuple[str, tuple[Any, ...] | None]
"""The name of an entry or a property; of a method with the arguments."""


class _RecordingMapping(Mapping):
    """A mapping that writes down what another one is asked, each question once.

    Entries, properties and methods are those of mappings, and stand below.
    """

    __slots__ = ("_answers", "_mapping")
    _mapping: Mapping
    _answers: dict[_Question, Any]

    # To type checkers a class is one's own, and can be set: here it is neither.
    @property  # type: ignore[misc]
    def __class__(self) -> type[Mapping]:  # type: ignore[override]
        """What it is to others, who compare it with mappings and make mappings of it."""
        return Mapping


def _recording_property(name: str) -> property:
    """Return an entry, or a property, that is what another mapping says, and writes it down."""
    question = name, None

    def said(self: _RecordingMapping) -> Any:
        result = self._answers[question] = getattr(self._mapping, name)
        return result

    return property(said)


def _recording_method(name: str) -> Callable[..., Any]:
    """Return a method that says what another mapping does, and writes it down."""

    def called(self: _RecordingMapping, *arguments: Any) -> Any:
        result = self._answers[name, arguments] = getattr(self._mapping, name)(*arguments)
        return result

    return called


for _name, _what in vars(Mapping).items():
    if not _name.startswith("_"):
        is_method = isinstance(_what, FunctionType)
        setattr(
            _RecordingMapping,
            _name,
            (_recording_method if is_method else _recording_property)(_name),
        )


def _recording(mapping: Mapping, asked: dict[_Question, Any]) -> Mapping:
    """Return a mapping that writes down what it is asked, and what it has said."""
    recording_mapping = object.__new__(_RecordingMapping)
    object.__setattr__(recording_mapping, "_mapping", mapping)
    object.__setattr__(recording_mapping, "_answers", asked)
    return recording_mapping


# Where mappings are that have said the same: a dictionary of what comes next by what they say to
# the question under the one key; or under the other the end, for which nobody is a key. Of a way
# that one answer alone has gone the end has all that is left: questions, what was said, the answer.
_QUESTION_KEY, _ANSWER_KEY = object(), object()


class MappingMemo(Generic[Answer]):
    """Answers to one question about many mappings, for one thread."""

    def __init__(self, most: int = 512) -> None:
        """Remember nothing yet, and never more than so many: then it begins anew."""
        self._most = most
        self._count = 0
        self._first: dict[Any, Any] = {}

    def __len__(self) -> int:
        """Return how many answers are remembered."""
        return self._count

    def get_or_compute(self, mapping: Mapping, answer: Callable[[Mapping], Answer]) -> Answer:
        """Return the answer for a mapping, worked out if what it depends on is new.

        Where the mapping is watched itself, all that this answer depends on is written down there.
        """
        if type(mapping) is _RecordingMapping:
            result, asked = self._get_or_compute(mapping._mapping, answer)
            mapping._answers.update(asked)
        else:
            result, _ = self._get_or_compute(mapping, answer)
        return result

    def _get_or_compute(
        self, mapping: Mapping, answer: Callable[[Mapping], Answer]
    ) -> tuple[Answer, dict[_Question, Any]]:
        """Return the answer, and what it depends on with what the mapping says."""
        asked: dict[_Question, Any] = {}
        known = self._lookup(mapping, asked)
        if known is not None:
            return known[0], asked
        new: dict[_Question, Any] = {}
        result = answer(_recording(mapping, new))
        asked.update(new)
        if self._count >= self._most:
            self._count, self._first = 0, {}
        _insert_answer(self._first, tuple(asked), tuple(asked.values()), result)
        self._count += 1
        return result, asked

    def _lookup(self, mapping: Mapping, asked: dict[_Question, Any]) -> tuple[Answer] | None:
        """Ask a mapping what others were asked who said the same so far, and write it down.

        Return the answer if that leads to one.
        """
        at: dict[Any, Any] | None = self._first
        while at and (question := at.get(_QUESTION_KEY)) is not None:
            name, arguments = question
            value = getattr(mapping, name)
            if arguments is not None:
                value = value(*arguments)
            asked[question] = value
            at = at.get(value)
        if not at:
            return None
        questions, values, result = at[_ANSWER_KEY]
        for question, other in zip(questions, values, strict=True):
            name, arguments = question
            value = getattr(mapping, name)
            if arguments is not None:
                value = value(*arguments)
            asked[question] = value
            if value != other:
                return None
        return (result,)


def _insert_answer(
    node: dict[Any, Any], questions: tuple[_Question, ...], values: tuple[Any, ...], answer: Any
) -> None:
    """Add an answer to what follows, after all that has been said to these questions."""
    for place, (question, value) in enumerate(zip(questions, values, strict=True)):
        if (end := node.pop(_ANSWER_KEY, None)) is not None:
            # Somebody else was alone here: the next question parts the two.
            (first, *others), (said, *left), other = end
            node[_QUESTION_KEY] = first
            node[said] = {_ANSWER_KEY: (tuple(others), tuple(left), other)}
        if not node:
            node[_ANSWER_KEY] = (questions[place:], values[place:], answer)
            return
        node[_QUESTION_KEY] = question
        node = node.setdefault(value, {})
    node[_ANSWER_KEY] = ((), (), answer)
