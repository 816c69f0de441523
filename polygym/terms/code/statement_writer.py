"""Statements: numbers kept in places, values copied and combined element by element.

A place is an array, or an element of one, that nothing has written to before. What the emitter of
terms decides becomes text here.
"""

from collections.abc import Sequence
from typing import Any

from polygym.terms.code.c_values import CArray, CScalar, leaves, literal
from polygym.terms.code.function_writer import FunctionWriter
from polygym.terms.code.scalars import apply_operator
from polygym.terms.language.types import BOOL, FLOAT, INTEGER


class StatementWriter:
    """Writes statements where the text is now."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.writer = FunctionWriter()
        self.start: list[str] = []
        self._zeros: dict[int, CArray] = {}

    def condition(self, chosen: CScalar) -> CScalar:
        """Return a condition that can be written at several statements."""
        return chosen if chosen.is_affine or chosen.is_simple else self.store(chosen, "is")

    def make_simple(self, value: CScalar, wanted: str) -> CScalar:
        """Return a scalar that can be repeated without repeating work."""
        return value if value.is_simple or value.is_affine else self.store(value, wanted)

    def store(self, value: CScalar, wanted: str) -> CScalar:
        """Return a scalar that is computed here, and read from then on."""
        if value.is_simple and not value.is_affine:
            return value
        place = self.writer.scalar(wanted, value.kind)
        self.assign(place, value)
        return read_place(place)

    def assign(self, place: CArray, value: CScalar) -> None:
        """Write a number to a place."""
        text = value.text
        if text.startswith("(") and _closes_at_end(text):
            text = text[1:-1]
        self.writer.line(f"{place.text} = {text};")

    def copy(self, value: Any, place: Any) -> None:
        """Write a value to a place."""
        self.combine("", place, value)

    def clear(self, place: Any) -> None:
        """Write zeros to a place."""
        for array in leaves(place):
            assert isinstance(array, CArray)
            with self.writer.nest(array.extents) as counters:
                zero = {FLOAT: 0.0, INTEGER: 0, BOOL: False}[array.kind]
                self.assign(array.inside(counters), literal(zero))

    def combine(self, name: str, place: Any, *values: Any) -> None:
        """Write an operator of values, element by element; with no name, the value itself."""
        if isinstance(place, tuple):
            for at, part in enumerate(place):
                self.combine(
                    name,
                    part,
                    *(value[at] if isinstance(value, tuple) else value for value in values),
                )
            return
        with self.writer.nest(place.extents) as counters:
            parts = [_element_at(value, counters) for value in values]
            self.assign(place.inside(counters), apply_operator(name, parts) if name else parts[0])

    def checked_subscript(self, where: CScalar, count: int) -> CScalar:
        """Return a computed subscript to write at, after reading there: that finds out if it is."""
        stored = self.store(where, "place")
        zeros = self.zero(count)
        checked = self.writer.scalar("place", INTEGER)
        self.writer.line(f"{checked.text} = {stored.text} + {zeros.name}[{stored.text}];")
        return read_place(checked)

    def zero(self, count: int) -> CArray:
        """Return an array of zeros, to be read where a subscript is to be checked."""
        if count not in self._zeros:
            made = self.writer.temporary("zeros", CArray("", (), (max(count, 1),), INTEGER))
            self._zeros[count] = made
            counter = self.writer.name("z")
            self.start += [
                f"for (long {counter} = 0; {counter} < {max(count, 1)}; {counter}++) {{",
                f"{made.name}[{counter}] = 0;",
                "}",
            ]
        return self._zeros[count]


def load_value(value: Any) -> Any:
    """Return a value whose numbers in memory are expressions."""
    if isinstance(value, tuple):
        return tuple(map(load_value, value))
    return read_place(value) if isinstance(value, CArray) and not value.extents else value


def read_place(place: CArray) -> CScalar:
    """Return the number at a place."""
    return CScalar(place.text, place.kind)


def loop_counter(name: str) -> CScalar:
    """Return the counter of a loop."""
    return CScalar(name, INTEGER, is_affine=True)


def _element_at(value: Any, counters: Sequence[str]) -> CScalar:
    if isinstance(value, CScalar):
        return value
    cscalar = load_value(value.inside(counters))
    assert isinstance(cscalar, CScalar)
    return cscalar


def extents_of(value: Any) -> tuple[tuple[int, ...], ...]:
    """Return the sizes of all arrays of a value, none for numbers."""
    return tuple(array.extents if isinstance(array, CArray) else () for array in leaves(value))


def parenthesize(text: str) -> str:
    """Return an expression in brackets."""
    return text if text.startswith("(") and _closes_at_end(text) else f"({text})"


def _closes_at_end(text: str) -> bool:
    """Whether the bracket with which a text begins is closed by the one with which it ends."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return at == len(text) - 1
    return False


def is_all_numbers(place: Any) -> bool:
    """Whether no vector is in a value."""
    return not any(extents for extents in extents_of(place))
