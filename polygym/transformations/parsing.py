"""Steps read from their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from polygym.errors import InputError
from polygym.mapping.knob_domains import WorkSharing
from polygym.transformations.steps import (
    KEYWORDS,
    LARGEST_AMOUNT,
    LARGEST_TILE,
    Contract,
    Distribute,
    Fuse,
    Interchange,
    Parallelize,
    Reorder,
    Reverse,
    SetMapping,
    SetSchedule,
    Shift,
    Skew,
    SplitIndexSet,
    Step,
    Stop,
    Store,
    Tile,
    Undo,
    UnrollJam,
    Vectorize,
)

_NUMBER = re.compile(r"[+-]?[0-9]{1,6}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")
_TERM = re.compile(r"([+-]?)(?:([0-9]{1,6})(?:\*(?=[A-Za-z_]))?)?([A-Za-z_][A-Za-z0-9_]{0,79})?")
_MOST_TERMS = 16


class _Words:
    """The operands of a step, read one by one."""

    def __init__(self, kind: type[Step], words: Sequence[str]) -> None:
        self._kind, self._words, self._place = kind, list(words), 0

    @property
    def is_done(self) -> bool:
        return self._place == len(self._words)

    def peek(self) -> str:
        return "" if self.is_done else self._words[self._place]

    def _next(self, expected: str) -> str:
        if self.is_done:
            raise self._error(expected, "nothing")
        self._place += 1
        return self._words[self._place - 1]

    def name(self, expected: str = "the name of a loop") -> str:
        word = self._next(expected)
        if not _NAME.fullmatch(word):
            raise self._error(expected, repr(word[:80]))
        return word

    def number(self, least: int, most: int) -> int:
        expected = f"an integer from {least} to {most}"
        word = self._next(expected)
        if not _NUMBER.fullmatch(word) or not least <= int(word) <= most:
            raise self._error(expected, repr(word[:80]))
        return int(word)

    def amount(self, least: int, most: int) -> tuple[tuple[tuple[str, int], ...], int]:
        """Return the factors of names, and the constant."""
        expected = f"an integer from {least} to {most}, or an amount such as n-1"
        word = self._next(expected)
        factors: dict[str, int] = {}
        place, terms = 0, 0
        while place < len(word):
            found = _TERM.match(word, place)
            terms += 1
            if found is None or not (found[2] or found[3]) or terms > _MOST_TERMS:
                raise self._error(expected, repr(word[:80]))
            if place and not found[1]:
                raise self._error(expected, repr(word[:80]))
            value = int(found[2] or 1) * (-1 if found[1] == "-" else 1)
            factors[found[3] or ""] = factors.get(found[3] or "", 0) + value
            place = found.end()
        if any(not least <= value <= most for value in factors.values()):
            raise self._error(expected, repr(word[:80]))
        constant = factors.pop("", 0)
        return tuple((name, value) for name, value in factors.items() if value), constant

    def keyword(self, *known: str) -> str:
        word = self._next(" or ".join(known))
        if word not in known:
            raise self._error(" or ".join(known), repr(word[:80]))
        return word

    def end(self) -> None:
        if not self.is_done:
            raise self._error("nothing more", repr(self.peek()[:80]))

    def _error(self, expected: str, found: str) -> InputError:
        return InputError(
            f"{self._kind.syntax.split()[0]}: expected {expected}, found {found}; "
            f"the form is: {self._kind.syntax}, for example: {self._kind.example}"
        )


def _interchange(words: _Words) -> Step:
    return Interchange(words.name(), words.name())


def _fuse(words: _Words) -> Step:
    first, second = words.name("a loop or statement"), words.name("a loop or statement")
    step = Fuse(first, second)
    while not words.is_done:
        match words.keyword("depth", "shift", "sink"):
            case "depth":
                step = replace(step, depth=words.number(1, 64))
            case "shift":
                terms, shift = words.amount(-LARGEST_AMOUNT, LARGEST_AMOUNT)
                step = replace(step, shift=shift, terms=terms)
            case _:
                step = replace(step, sink=words.name("a loop or statement"))
    return step


def _distribute(words: _Words) -> Step:
    loop = words.name()
    words.keyword("before")
    return Distribute(loop, words.name("a loop or statement"))


def _reorder(words: _Words) -> Step:
    return Reorder(words.name("a loop or statement"), words.name("a loop or statement"))


def _skew(words: _Words) -> Step:
    loop, by = words.name(), words.name()
    return Skew(loop, by, words.number(-LARGEST_AMOUNT, LARGEST_AMOUNT))


def _shift(words: _Words) -> Step:
    node, loop = words.name("a loop or statement"), words.name()
    return Shift(node, loop, words.number(-LARGEST_AMOUNT, LARGEST_AMOUNT))


def _tile(words: _Words) -> Step:
    loops = [words.name()]
    while not words.is_done and not _NUMBER.fullmatch(words.peek()):
        loops.append(words.name())
    sizes = tuple(words.number(1, LARGEST_TILE) for _ in loops)
    return Tile(tuple(loops), sizes)


def _unroll_jam(words: _Words) -> Step:
    return UnrollJam(words.name(), words.number(1, 16))


def _vectorize(words: _Words) -> Step:
    loop = words.name()
    if words.is_done:
        return Vectorize(loop)
    bits = words.keyword("off", "128", "256", "512")
    return Vectorize(loop, 0 if bits == "off" else int(bits))


def _parallel(words: _Words) -> Step:
    loop = words.name()
    if words.is_done:
        return Parallelize(loop)
    return Parallelize(loop, WorkSharing(words.keyword(*(kind.value for kind in WorkSharing))))


_READERS: dict[type[Step], Callable[[_Words], Step]] = {
    Stop: lambda _: Stop(),
    Undo: lambda _: Undo(),
    Contract: lambda _: Contract(),
    Interchange: _interchange,
    Fuse: _fuse,
    Distribute: _distribute,
    Reorder: _reorder,
    Skew: _skew,
    Reverse: lambda words: Reverse(words.name()),
    Shift: _shift,
    Tile: _tile,
    UnrollJam: _unroll_jam,
    Vectorize: _vectorize,
    Parallelize: _parallel,
}


def parse_step(text: str) -> Step:
    """Read a step.

    >>> str(parse_step("fuse L1 L3 shift 1")), str(parse_step("tile L1 L2 32 8"))
    ('fuse L1 L3 shift 1', 'tile L1 L2 32 8')

    Raises:
        InputError: it is none; the message names the expected form.
    """
    keyword, *operands = text.split() or [""]
    kind = KEYWORDS.get(keyword)
    if kind is None:
        raise InputError(f"a step: expected one of {', '.join(KEYWORDS)}, found {keyword[:80]!r}")
    rest = " ".join(operands)
    if kind in (SplitIndexSet, Store, SetMapping, SetSchedule):
        if not rest:
            raise InputError(
                f"{keyword}: expected something behind it; the form is: {kind.syntax}, "
                f"for example: {kind.example}"
            )
        return kind(rest)
    words = _Words(kind, operands)
    step = _READERS[kind](words)
    words.end()
    return step
