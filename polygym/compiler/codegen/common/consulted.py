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
(:mod:`polygym.compiler.codegen.trees.memory`) is asked by questions that hold all that they depend
on: whatever a mapping would be asked for an answer that is remembered, it was asked before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar

from polygym.compiler.codegen.common.mapping import Mapping

Answer = TypeVar("Answer")

_Question: TypeAlias = tuple[str, tuple[Any, ...] | None]
"""The name of an entry or a property; of a method with the arguments."""


class _Watched(Mapping):
    """A mapping that writes down what another one is asked, each question once."""

    _of: Mapping
    _asked: dict[_Question, Any]

    # To type checkers a class is one's own, and can be set: here it is neither.
    @property  # type: ignore[misc]
    def __class__(self) -> type[Mapping]:  # type: ignore[override]
        """What it is to others, who compare it with mappings and make mappings of it."""
        return Mapping

    def __getattribute__(self, name: str) -> Any:
        """Return what the other mapping says, and write it down."""
        if name[0] == "_":
            return object.__getattribute__(self, name)
        found = getattr(object.__getattribute__(self, "_of"), name)
        asked = object.__getattribute__(self, "_asked")
        if not callable(found):
            asked[name, None] = found
            return found

        def called(*arguments: Any) -> Any:
            answer = found(*arguments)
            asked[name, arguments] = answer
            return answer

        return called


def _watched(mapping: Mapping, asked: dict[_Question, Any]) -> Mapping:
    """Return a mapping that writes down what it is asked, and what it has said."""
    found = object.__new__(_Watched)
    object.__setattr__(found, "_of", mapping)
    object.__setattr__(found, "_asked", asked)
    return found


def _said(mapping: Mapping, question: _Question) -> Any:
    """Return what a mapping says to a question."""
    name, arguments = question
    found = getattr(mapping, name)
    return found if arguments is None else found(*arguments)


class Answers(Generic[Answer]):
    """Answers to one question about many mappings, for one thread."""

    def __init__(self, most: int = 512) -> None:
        """Remember nothing yet, and never more than so many: then it begins anew."""
        self._most = most
        # By what mappings have said so far: what they are asked next, or the answer.
        self._next: dict[tuple[Any, ...], _Question] = {}
        self._answers: dict[tuple[Any, ...], Answer] = {}

    def of(self, mapping: Mapping, answer: Callable[[Mapping], Answer]) -> Answer:
        """Return the answer for a mapping, worked out if what it depends on is new.

        Where the mapping is watched itself, all that this answer depends on is written down there.
        """
        if isinstance(mapping, _Watched):
            found, asked = self._of(mapping._of, answer)
            mapping._asked.update(asked)
        else:
            found, _ = self._of(mapping, answer)
        return found

    def _of(
        self, mapping: Mapping, answer: Callable[[Mapping], Answer]
    ) -> tuple[Answer, dict[_Question, Any]]:
        """Return the answer, and what it depends on with what the mapping says."""
        said, asked = self._followed(mapping)
        if said in self._answers:
            return self._answers[said], asked
        new: dict[_Question, Any] = {}
        found = answer(_watched(mapping, new))
        if len(self._answers) >= self._most:
            self._next.clear()
            self._answers.clear()
            said, asked = (), {}
        for question, value in new.items():
            if question not in asked:
                self._next[said] = question
                said = (*said, value)
                asked[question] = value
        self._answers[said] = found
        return found, asked

    def _followed(self, mapping: Mapping) -> tuple[tuple[Any, ...], dict[_Question, Any]]:
        """Return what a mapping says to all that others were asked who said the same so far."""
        said: tuple[Any, ...] = ()
        asked: dict[_Question, Any] = {}
        while (question := self._next.get(said)) is not None:
            value = asked[question] = _said(mapping, question)
            said = (*said, value)
        return said, asked
