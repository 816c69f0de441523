"""Domains of mapping knobs: which values an option has, how they print, parse and vary.

A domain gives every row of :mod:`polygym.mapping.knobs` its defaults. A search *samples* a value
anew, whatever it was, as genes are; or it *mutates* one, which for sizes means a step from where
it was: one size a little larger or smaller, one more or one less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import log2
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from polygym.errors import InputError

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")
Sizes: TypeAlias = tuple[int, ...]

MAX_LOOPS = 6
"""Columns show the sizes of so many loops."""

_FLAG_ON = 0.8  # how often a sampled flag is on
_MAX_MUTATED_SIZES = 4


class WorkSharing(Enum):
    """How the iterations of a parallel loop are shared out among threads."""

    DYNAMIC = "dynamic"
    STATIC = "static"
    OFF = "off"

    # Each is there once. That of its name, which Python takes, is slower than all other entries'.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class KnobColumn:
    """A column of a table of numbers: 0 with one thread if it only matters to several."""

    name: str
    number: Any  # a function of the knob's value
    needs_threads: bool = False

    def __call__(self, value: Any, threads: int = 2) -> float:
        """Return the number for a value."""
        return 0.0 if self.needs_threads and threads == 1 else float(self.number(value))


class KnobDomain:
    """The values of a knob; ``expected`` describes their text."""

    expected: str

    def parse(self, text: str) -> Any:
        """Return the value of a text.

        Raises:
            ValueError: it has none.
            KeyError: it has none.
        """
        raise NotImplementedError

    def check(self, name: str, value: Any) -> None:
        """Refuse what is no value.

        Raises:
            InputError: it is none.
        """
        raise NotImplementedError

    def text(self, value: Any) -> str:
        """Return the text of a value, which parses back to it."""
        return str(value) if value else "off"

    def sample(self, rng: np.random.Generator, tiles: Sequence[int], depth: int) -> Any:
        """Return a random value for loops nested so deep, with these tile sizes to choose from."""
        raise NotImplementedError

    def mutate(self, value: Any, rng: np.random.Generator) -> Any:
        """Return a random neighbour of a value."""
        raise NotImplementedError

    def columns(self, name: str) -> tuple[KnobColumn, ...]:
        """Return the columns of a mapping's own features; -1 stands for the default."""
        return (KnobColumn(name, lambda value: -1 if value is None else value),)

    def nest_columns(self, name: str) -> tuple[KnobColumn, ...]:
        """Return the columns that an observation has of it for a nest."""
        return (KnobColumn(name, lambda value: log2(1 + (value or 0))),)


@dataclass(frozen=True, slots=True)
class Flag(KnobDomain):
    """On or off; ``is_likely`` is how often a sampled one is on."""

    is_likely: float = _FLAG_ON
    expected = "on or off"

    def parse(self, text: str) -> bool:
        """Return the value of ``on`` and ``off``."""
        return {"on": True, "off": False}[text]

    def check(self, name: str, value: Any) -> None:
        """Refuse all but two values."""
        if not isinstance(value, bool):
            raise InputError(f"{name}: expected True or False, found {value!r}")

    def text(self, value: Any) -> str:
        """Return ``on`` or ``off``."""
        return "on" if value else "off"

    def sample(self, rng: np.random.Generator, tiles: Sequence[int], depth: int) -> bool:
        """Return on as often as is likely."""
        return bool(rng.random() < self.is_likely)

    def mutate(self, value: Any, rng: np.random.Generator) -> bool:
        """Return the other value."""
        return not value

    def nest_columns(self, name: str) -> tuple[KnobColumn, ...]:
        """Return one column, 0 or 1."""
        return (KnobColumn(name, float),)


@dataclass(frozen=True, slots=True)
class Number(KnobDomain):
    """A number from 1 on; None leaves it to the model if it ``is_optional``.

    Values that stand twice in ``samples`` are the likelier.
    """

    most: int
    is_optional: bool = True
    samples: tuple[int | None, ...] = ()
    mutations: tuple[int | None, ...] = ()
    expected = "a number"

    def parse(self, text: str) -> int:
        """Return the number of digits."""
        return parse_number(text)

    def check(self, name: str, value: Any) -> None:
        """Refuse what lies outside of the range."""
        if value is not None or not self.is_optional:
            require_range(name, value, 1, self.most)

    def sample(self, rng: np.random.Generator, tiles: Sequence[int], depth: int) -> int | None:
        """Return one of the samples."""
        return choose(self.samples, rng)

    def mutate(self, value: Any, rng: np.random.Generator) -> int | None:
        """Return one of the mutations."""
        return choose(self.mutations, rng)


@dataclass(frozen=True, slots=True)
class VectorBits(KnobDomain):
    """Bits of a vector: 0 is off, None the machine's."""

    expected = "128, 256, 512 or off"

    def parse(self, text: str) -> int:
        """Return the number; 0 for off."""
        return 0 if text == "off" else parse_number(text)

    def check(self, name: str, value: Any) -> None:
        """Refuse other widths."""
        if isinstance(value, bool) or value not in (None, 0, 128, 256, 512):
            raise InputError(f"{name}: expected 128, 256, 512 or 0 for off, found {value!r}")

    def sample(self, rng: np.random.Generator, tiles: Sequence[int], depth: int) -> int | None:
        """Return mostly the machine's width."""
        return choose((None, None, 256, 512, 0), rng)

    def mutate(self, value: Any, rng: np.random.Generator) -> int | None:
        """Return any width."""
        return choose((None, 0, 128, 256, 512), rng)

    def nest_columns(self, name: str) -> tuple[KnobColumn, ...]:
        """Return whether there are vectors, and their width."""
        columns = KnobDomain.nest_columns(self, name)
        return (KnobColumn("vectors", lambda value: value != 0), *columns)


@dataclass(frozen=True, slots=True)
class Sharing(KnobDomain):
    """The ways to share out iterations."""

    expected = "dynamic, static or off"

    def parse(self, text: str) -> WorkSharing:
        """Return the way of that name."""
        return WorkSharing(text)

    def check(self, name: str, value: Any) -> None:
        """Refuse what is no way."""
        if not isinstance(value, WorkSharing):
            raise InputError(f"{name}: expected a WorkSharing, found {value!r}")

    def text(self, value: Any) -> str:
        """Return the name."""
        return str(value.value)

    def sample(self, rng: np.random.Generator, tiles: Sequence[int], depth: int) -> WorkSharing:
        """Return any way."""
        return choose(tuple(WorkSharing), rng)

    def mutate(self, value: Any, rng: np.random.Generator) -> WorkSharing:
        """Return any way."""
        return choose(tuple(WorkSharing), rng)

    def columns(self, name: str) -> tuple[KnobColumn, ...]:
        """Return one column, the number of the way."""
        return (KnobColumn(name, list(WorkSharing).index),)

    def nest_columns(self, name: str) -> tuple[KnobColumn, ...]:
        """Return whether iterations are shared out, and statically."""
        return (
            KnobColumn("is_static", lambda value: value is WorkSharing.STATIC),
            KnobColumn("is_shared", lambda value: value is not WorkSharing.OFF, needs_threads=True),
        )


@dataclass(frozen=True, slots=True)
class SizeList(KnobDomain):
    """Sizes, one a loop; empty is off, None the model's choice if it ``is_optional``."""

    expected: str
    choices: Sizes
    is_optional: bool = False

    def parse(self, text: str) -> Sizes:
        """Return the sizes of ``32x64``."""
        return () if text == "off" else tuple(parse_number(part) for part in text.split("x"))

    def check(self, name: str, value: Any) -> None:
        """Refuse what are no sizes."""
        if value is None and self.is_optional:
            return
        if not isinstance(value, tuple):
            raise InputError(f"{name}: expected a tuple of numbers, found {value!r}")
        for size in value:
            require_range(name, size, 1, 1 << 20)

    def text(self, value: Any) -> str:
        """Return ``32x64``."""
        return "x".join(map(str, value)) or "off"

    def columns(self, name: str) -> tuple[KnobColumn, ...]:
        """Return a column for each loop, 0 without a size."""
        return tuple(
            KnobColumn(f"{name}_{place}", lambda value, place=place: size_at(value, place, 0))
            for place in range(MAX_LOOPS)
        )


class TileSizes(SizeList):
    """Sizes of tiles, loop by loop."""

    def sample(self, rng: np.random.Generator, tiles: Sequence[int], depth: int) -> Sizes | None:
        """Return up to ``depth`` of the given sizes, or leave them to the model."""
        if rng.random() < 0.3:
            return None
        count = int(rng.integers(0, depth + 1))
        return tuple(int(rng.choice(tiles)) for _ in range(count))

    def mutate(self, value: Any, rng: np.random.Generator) -> Sizes | None:
        """Return other sizes."""
        return other_sizes(value, self.choices, rng, (None, ()))

    def columns(self, name: str) -> tuple[KnobColumn, ...]:
        """Return a column for each loop, and whether the model chooses."""
        return (
            *SizeList.columns(self, name),
            KnobColumn(f"{name}_is_free", lambda value: value is None),
        )

    def nest_columns(self, name: str) -> tuple[KnobColumn, ...]:
        """Return whether there are tiles, and the size for each loop."""
        return (
            KnobColumn("is_tiled", lambda value: value != ()),
            *(
                KnobColumn(
                    f"{name}_{place + 1}",
                    lambda value, place=place: log2(1 + size_at(value, place, 0)),
                )
                for place in range(MAX_LOOPS)
            ),
        )


class TileFactors(SizeList):
    """Sizes of tiles in tiles."""

    def sample(self, rng: np.random.Generator, tiles: Sequence[int], depth: int) -> Sizes:
        """Return one factor now and then."""
        return () if rng.random() < 0.8 else (int(rng.choice(self.choices[1:])),)

    def mutate(self, value: Any, rng: np.random.Generator) -> Sizes | None:
        """Return other factors."""
        return other_sizes(value, self.choices, rng, ((),))

    def nest_columns(self, name: str) -> tuple[KnobColumn, ...]:
        """Return the first factor."""
        return (KnobColumn(name, lambda value: log2(1 + value[0]) if value else 0),)


class LoopNumbers(SizeList):
    """Loops by their numbers, innermost last; which one or two run innermost, mostly none."""

    def check(self, name: str, value: Any) -> None:
        """Refuse a loop that stands there twice."""
        SizeList.check(self, name, value)
        if len(set(value)) < len(value):
            raise InputError(f"{name}: expected every loop once, found {self.text(value)}")

    def sample(self, rng: np.random.Generator, tiles: Sequence[int], depth: int) -> Sizes:
        """Return loops of a nest so deep, or none."""
        return () if rng.random() < 0.7 else _sample_loops(depth, rng)

    def mutate(self, value: Any, rng: np.random.Generator) -> Sizes:
        """Return no loops, or others."""
        return () if value and rng.random() < 0.7 else _sample_loops(len(self.choices), rng)

    def columns(self, name: str) -> tuple[KnobColumn, ...]:
        """Return the two innermost loops, -1 without one."""
        return tuple(
            KnobColumn(f"{name}_{place}", lambda value, place=place: size_at(value[::-1], place))
            for place in range(2)
        )

    def nest_columns(self, name: str) -> tuple[KnobColumn, ...]:
        """Return the place of every loop among the named ones, from the innermost on; 0 for none.

        >>> loops = LoopNumbers("", (1, 2, 3))
        >>> [column((3, 1)) for column in loops.nest_columns("order")][:3]
        [1.0, 0.0, 2.0]
        """
        return tuple(
            KnobColumn(
                f"{name}_{loop}",
                lambda value, loop=loop: len(value) - value.index(loop) if loop in value else 0,
            )
            for loop in range(1, MAX_LOOPS + 1)
        )


def require_range(name: str, value: Any, least: int, most: int) -> None:
    """Refuse what is no integer of a range.

    Raises:
        InputError: it is none.
    """
    if type(value) is not int or not least <= value <= most:
        raise InputError(f"{name}: expected {least} to {most}, found {value!r}")


def parse_number(text: str) -> int:
    """Return the number of ASCII digits.

    Raises:
        ValueError: there are other characters.
    """
    if not (text.isascii() and text.isdigit()):
        raise ValueError
    return int(text)


def size_at(sizes: Sizes | None, place: int, otherwise: int = -1) -> int:
    """Return a size, and another number where there is none."""
    return sizes[place] if sizes and place < len(sizes) else otherwise


def other_sizes(
    sizes: Sizes | None, choices: Sizes, rng: np.random.Generator, special: Sequence[Sizes | None]
) -> Sizes | None:
    """Return other sizes: one of them a step larger or smaller, one more, one less, or new ones."""
    kind = rng.random()
    if kind < 0.1:
        return choose(special, rng)
    if not sizes or kind < 0.2:
        return tuple(choose(choices, rng) for _ in range(int(rng.integers(1, 4))))
    if kind < 0.3 and len(sizes) < _MAX_MUTATED_SIZES:
        return (*sizes, choose(choices, rng))
    if kind < 0.4 and len(sizes) > 1:
        return sizes[:-1]
    place = int(rng.integers(len(sizes)))
    nearest = min(range(len(choices)), key=lambda choice: abs(choices[choice] - sizes[place]))
    step = nearest + int(rng.choice((-1, 1)))
    size = choices[max(0, min(len(choices) - 1, step))]
    return (*sizes[:place], size, *sizes[place + 1 :])


def _sample_loops(depth: int, rng: np.random.Generator) -> Sizes:
    """Return which of so many loops run innermost: one, or two in their order."""
    count = 1 + int(rng.random() < 0.3)
    return tuple(int(loop) + 1 for loop in rng.permutation(depth)[:count])


def choose(choices: Sequence[T], rng: np.random.Generator) -> T:
    """Return any of some values."""
    return choices[int(rng.integers(len(choices)))]
