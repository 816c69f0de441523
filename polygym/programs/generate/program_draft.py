"""A program while it is being made: its sizes, its arrays, its text.

A caller that makes a nest asks for sizes and arrays and adds lines; names are given out in their
order, so that equal decisions make equal texts. An array that is read may be one that an earlier
nest has written, which ties the nests together.

Scalars and buffers are the function's own, declared where they are first needed or before the
region; those before the region may serve several nests. A caller that asks for one fills it before
it is read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np

_Item = TypeVar("_Item")

_SIZES = ("n", "m", "p", "q")
_STEPS = "steps"
_INDENT = "  "

# How likely an array or a size is one that is there already.
_REUSE_PROBABILITY, _SAME_SIZE = 0.6, 0.55

_SCALARS, _BUFFERS = "stuvwxyz", "abcdefgh"

# How likely what is the function's own is declared before its region, and is one that is there.
_BEFORE, _SAME_SCALAR = 0.35, 0.6


@dataclass(frozen=True, slots=True)
class DraftArray:
    """An array by its name and the sizes of its dimensions, each as C."""

    name: str
    extents: tuple[str, ...]

    def at(self, *subscripts: str) -> str:
        """Return an element as C.

        >>> DraftArray("A", ("n", "m")).at("i", "j + 1")
        'A[i][j + 1]'
        """
        return self.name + "".join(f"[{subscript}]" for subscript in subscripts)


def ascending(iterator: str, low: str, high: str) -> str:
    """Return the header of a loop from ``low`` to just below ``high``."""
    return f"for (int {iterator} = {low}; {iterator} < {high}; {iterator}++)"


def descending(iterator: str, high: str, low: str) -> str:
    """Return the header of a loop from ``high`` down to ``low``."""
    return f"for (int {iterator} = {high}; {iterator} >= {low}; {iterator}--)"


@dataclass(frozen=True, slots=True)
class DraftLoop:
    """A loop of a nest: its counter runs over a size, or over a part of it."""

    iterator: str
    size: str
    low: str = "0"
    high: str = ""

    def __str__(self) -> str:
        """Return its header."""
        return ascending(self.iterator, self.low, self.high or self.size)


def iterators_of(loops: Sequence[DraftLoop]) -> list[str]:
    """Return the counters of loops."""
    return [loop.iterator for loop in loops]


def sizes_of(loops: Sequence[DraftLoop]) -> list[str]:
    """Return the sizes over which loops run."""
    return [loop.size for loop in loops]


@dataclass(slots=True)
class ProgramDraft:
    """What there is so far; ``rng`` decide everything."""

    rng: np.random.Generator
    element: str
    sizes: list[str] = field(default_factory=list)
    arrays: list[DraftArray] = field(default_factory=list)
    written: list[DraftArray] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    statements: int = 0
    iterators: int = 0
    depth: int = 0
    indices: list[DraftArray] = field(default_factory=list)
    region_locals: list[tuple[str, DraftArray]] = field(default_factory=list)
    in_nest: set[str] = field(default_factory=set)
    other_types: dict[str, str] = field(default_factory=dict)
    declarations: list[str] = field(default_factory=list)

    def chance(self, probability: float) -> bool:
        """Make the random choices."""
        return bool(self.rng.random() < probability)

    def number(self, least: int, most: int) -> int:
        """Return a number between two, both included."""
        return int(self.rng.integers(least, most + 1))

    def choose(self, choices: Sequence[_Item], weights: Sequence[float] | None = None) -> _Item:
        """Return one of several."""
        total = sum(weights or ())
        shares = None if weights is None else [weight / total for weight in weights]
        return choices[int(self.rng.choice(len(choices), p=shares))]

    def shuffled(self, items: Sequence[_Item]) -> list[_Item]:
        """Return the items in any order."""
        return [items[place] for place in self.rng.permutation(len(items))]

    def size(self) -> str:
        """Return a size, an old one or a new one."""
        unused = [name for name in _SIZES if name not in self.sizes]
        if self.sizes and (not unused or self.chance(_SAME_SIZE)):
            return self.choose(self.sizes)
        self.sizes.append(unused[0])
        return unused[0]

    def steps(self) -> str:
        """Return the number of steps in time."""
        if _STEPS not in self.sizes:
            self.sizes.append(_STEPS)
        return _STEPS

    def iterator(self) -> str:
        """Return the name of a new loop's counter."""
        names = "ijkl"
        name, row = names[self.iterators % len(names)], self.iterators // len(names)
        self.iterators += 1
        return name if not row else f"{name}{row}"

    def read_array(self, extents: Sequence[str], exclude: Sequence[DraftArray] = ()) -> DraftArray:
        """Return an array to read: one that was written before, if the random choices say so."""
        fitting = self._fitting(extents, exclude)
        before = [array for array in fitting if array in self.written]
        if before and self.chance(_REUSE_PROBABILITY):
            return self.choose(before)
        if fitting and self.chance(_REUSE_PROBABILITY):
            return self.choose(fitting)
        return self.new_array(extents)

    def written_array(
        self, extents: Sequence[str], exclude: Sequence[DraftArray] = ()
    ) -> DraftArray:
        """Return an array to write; now and then one that is there already."""
        fitting = self._fitting(extents, exclude)
        is_old = fitting and self.chance(0.25)
        draft_array = self.choose(fitting) if is_old else self.new_array(extents)
        if draft_array not in self.written:
            self.written.append(draft_array)
        return draft_array

    def _fitting(self, extents: Sequence[str], exclude: Sequence[DraftArray]) -> list[DraftArray]:
        """Return the arrays of some sizes, but for those that are excluded."""
        arrays = [array for array in self.arrays if array.extents == tuple(extents)]
        usual = [array for array in arrays if array.name not in self.other_types]
        return [array for array in usual if array not in exclude]

    def new_array(self, extents: Sequence[str]) -> DraftArray:
        """Return a new array."""
        count = len(self.arrays)
        letters = "ABCDEFGHXYZ"
        name = letters[count % len(letters)] + ("" if count < len(letters) else str(count))
        self.arrays.append(DraftArray(name, tuple(extents)))
        return self.arrays[-1]

    def typed_array(self, kind: str, extents: Sequence[str]) -> DraftArray:
        """Return a new array whose elements are of another type than the program's."""
        array = self.new_array(extents)
        self.other_types[array.name] = kind
        return array

    def declare(self, text: str) -> None:
        """Add a declaration before the function, unless it is there."""
        if text not in self.declarations:
            self.declarations.append(text)

    def new_indices(self, extents: Sequence[str]) -> DraftArray:
        """Return a new array of integers, to write."""
        self.indices.append(DraftArray(f"I{len(self.indices) or ''}", tuple(extents)))
        return self.indices[-1]

    def scalar(self, value: str, kind: str = "") -> str:
        """Give a scalar of the function's own a value, and return its name.

        Where it is declared here, the name is known to the end of the innermost block; outside of
        all loops that would be the function's, so there it is declared before the region.
        """
        kind = kind or self.element
        if not self.depth or self.chance(_BEFORE):
            name = self._declared_before(kind, (), _SCALARS).name
            self.assign(name, value)
            return name
        name = self._unused(_SCALARS)
        self._line(f"{kind} {name} = {value};")
        self.statements += 1
        return name

    def buffer(self, extent: str) -> DraftArray:
        """Return an array of the function's own, which nothing has filled yet."""
        if self.chance(0.5):
            return self._declared_before(self.element, (extent,), _BUFFERS)
        draft_array = DraftArray(self._unused(_BUFFERS), (extent,))
        self._line(f"{self.element} {draft_array.name}[{extent}];")
        return draft_array

    def _declared_before(self, kind: str, extents: tuple[str, ...], letters: str) -> DraftArray:
        """Return what is declared before the region, unused in this nest: an old one or a new one.

        A new one of a name that a nest before has had in a block is fine: it is out of scope here.
        """
        arrays = [
            array
            for of, array in self.region_locals
            if (of, array.extents) == (kind, extents) and array.name not in self.in_nest
        ]
        if arrays and self.chance(_SAME_SCALAR):
            self.in_nest.add(arrays[0].name)
            return arrays[0]
        self.region_locals.append((kind, DraftArray(self._unused(letters), extents)))
        return self.region_locals[-1][1]

    def _unused(self, letters: str) -> str:
        """Return a name that neither this nest nor anything before the region has."""
        taken = self.in_nest | {draft_array.name for _, draft_array in self.region_locals}
        names = (f"{letter}{row or ''}" for row in itertools.count() for letter in letters)
        name = next(name for name in names if name not in taken)
        self.in_nest.add(name)
        return name

    def begin_nest(self) -> None:
        """Forget what a nest before has called its own."""
        self.in_nest.clear()

    @contextmanager
    def block(self, *headers: object) -> Iterator[None]:
        """Open loops and conditions inside each other, and close them behind what is added."""
        for header in headers:
            self._line(f"{header} {{")
            self.depth += 1
        yield
        for _ in headers:
            self.depth -= 1
            self._line("}")

    def assign(self, element: str, expression: str, operator: str = "=") -> None:
        """Add a statement."""
        self._line(f"{element} {operator} {expression};")
        self.statements += 1

    def constant(self, value: float) -> str:
        """Return a number as C, of the elements' type."""
        text = f"{value:g}" if value % 1 else f"{value:.1f}"
        return f"{text}f" if self.element == "float" else text

    def _line(self, text: str) -> None:
        self.lines.append(_INDENT * (self.depth + 1) + text)

    def text(self, name: str) -> str:
        """Return the program as a C function with its region."""
        arguments = [f"int {size}" for size in self.sizes]
        arguments += [
            f"{self.other_types.get(array.name, self.element)} {_declared(array)}"
            for array in self.arrays
        ]
        arguments += [f"int {_declared(array)}" for array in self.indices]
        before = "".join(
            f"{_INDENT}{kind} {_declared(array)};\n" for kind, array in self.region_locals
        )
        body = "\n".join(self.lines)
        first = "".join(f"{line}\n" for line in self.declarations)
        return (
            f"{first}void {name}({', '.join(arguments)})\n{{\n{before}"
            f"#pragma scop\n{body}\n#pragma endscop\n}}\n"
        )


def _declared(array: DraftArray) -> str:
    """Return an array's name and sizes as C.

    >>> _declared(DraftArray("A", ("n", "m + 1")))
    'A[n][m + 1]'
    """
    return array.at(*array.extents)
