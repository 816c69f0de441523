"""The C text while it is written: names, declarations, loops around the place, statements.

What is declared stands outside the region. A scalar that is needed inside loops becomes an array
over them as long as that is small: iterations then owe nothing to each other, and isl may reorder
them, where one scalar for all of them would tie them together.

A place is an array, or an element of one, that nothing has written to before. What the emitter of
terms decides becomes text here: numbers are kept in places, values copied and combined element by
element.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import prod
from typing import Any

from polygym.errors import LimitError
from polygym.terms.code.c_values import C_TYPES, CArray, CScalar, leaves, literal, map_leaves
from polygym.terms.code.scalars import apply_operator
from polygym.terms.code.sizes import (
    Extent,
    LinearForm,
    Ranges,
    add,
    linear_form,
    number_of,
    size_text,
)
from polygym.terms.language.types import BOOL, FLOAT, INTEGER, BaseType

_MOST_STATEMENTS = 20_000
_LARGEST_EXPANSION = 2**20
_LARGEST = 2**31
_RESERVED = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long main register restrict return short signed sizeof static struct switch "
    "typedef union unsigned void volatile while signbit isnan isinf isfinite isnormal fpclassify "
    "INFINITY NAN NULL main abort abs atexit atof atoi atol atoll bsearch calloc div exit free "
    "getenv labs ldiv llabs lldiv malloc mblen qsort rand realloc srand strtod strtof strtol "
    "strtold strtoll strtoul strtoull system random srandom y0 y1 yn j0 j1 jn gamma lgamma "
    "signgam drem significand scalb".split()
) | frozenset(
    name + suffix
    for name in (
        "acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp "
        "ilogb ldexp log log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf "
        "erfc tgamma ceil floor nearbyint rint lrint llrint round lround llround trunc fmod "
        "remainder remquo copysign nan nextafter nexttoward fdim fmax fmin fma exp10"
    ).split()
    for suffix in ("", "f", "l")
)


class FunctionWriter:
    """Collects the text of one function."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.arguments: list[CArray] = []
        self.declared: list[CArray] = []
        self.lines: list[str] = []
        self.loops: list[tuple[str, Extent]] = []
        self.parameters: list[str] = []
        self.ranges = Ranges()
        self._counters: list[str] = []
        self._names: set[str] = set(_RESERVED)
        self._counts: dict[str, int] = {}
        self._statements = 0

    def name(self, wanted: str) -> str:
        """Return a name that nothing else has, like the one that is wanted.

        >>> writer = FunctionWriter()
        >>> [writer.name(one) for one in ("x", "x", "d$r", "if", "2")]
        ['x', 'x_2', 'd_r', 'if_2', 'v2']
        """
        clean = re.sub(r"\W", "_", wanted, flags=re.ASCII)
        clean = clean if re.match(r"[A-Za-z]", clean) else f"v{clean}"
        result = clean
        while result in self._names:
            self._counts[clean] = self._counts.get(clean, 1) + 1
            result = f"{clean}_{self._counts[clean]}"
        self._names.add(result)
        return result

    def parameter(self, wanted: str, *, is_size: bool) -> CScalar:
        """Return an Integer that is an argument of the function."""
        name = self.name(wanted)
        self.parameters.append(name)
        if is_size:
            self.ranges.add_size(name)
        return CScalar(name, INTEGER, is_affine=True, form=linear_form(name))

    def argument(self, wanted: str, outline: Any) -> Any:
        """Return arguments of the function, laid out like a value."""
        return map_leaves(lambda leaf: self._array(wanted, leaf, self.arguments), outline)

    def temporary(self, wanted: str, outline: Any) -> Any:
        """Return places of the function's own for a value of a layout."""

        def made(leaf: CArray | CScalar) -> CArray:
            if isinstance(leaf, CScalar):
                return self.scalar(wanted, leaf.kind)
            return self._array(wanted, leaf, self.declared)

        return map_leaves(made, outline)

    def scalar(self, wanted: str, kind: BaseType) -> CArray:
        """Return a place for a number: one for all, or one for each iteration of the loops."""
        extents = tuple(self._whole(self.ranges.upper_bound(count)) for _, count in self.loops)
        if _elements(extents, _LARGEST_EXPANSION + 1) > _LARGEST_EXPANSION:
            return self._array(wanted, CArray("", (), (), kind), self.declared)
        whole = self._array(wanted, CArray("", (), extents, kind), self.declared)
        return CArray(whole.name, tuple(counter for counter, _ in self.loops), (), kind)

    def _array(self, wanted: str, outline: CArray, where: list[CArray]) -> CArray:
        whole = tuple(self._whole(size) for size in outline.extents)
        if (elements := _elements(whole, 0)) > _LARGEST:
            raise LimitError(
                f"code of a term: expected vectors of at most {_LARGEST} elements, found one of "
                f"{elements}"
            )
        name = self.name(wanted)
        where.append(CArray(name, (), whole, outline.kind))
        return CArray(name, (), outline.extents, outline.kind)

    def _whole(self, size: Extent) -> Extent:
        """Return how much memory a vector takes whose size may depend on counters."""
        if isinstance(size, int):
            return max(size, 1)
        bound = self.ranges.upper_bound(size)
        return bound if self.ranges.at_least(bound, 1) else add(bound, 1)

    def line(self, text: str) -> None:
        """Write a line where the text is now."""
        self._statements += 1
        if self._statements > _MOST_STATEMENTS:
            raise LimitError(
                f"code of a term: expected at most {_MOST_STATEMENTS} statements, found more"
            )
        self.lines.append(text)

    @contextmanager
    def loop(self, count: Extent) -> Iterator[str]:
        """Write a loop around what is written inside; gives its counter."""
        if len(self._counters) == len(self.loops):
            self._counters.append(self.name(f"i{len(self.loops) + 1}"))
        counter = self._counters[len(self.loops)]
        self.line(f"for (long {counter} = 0; {counter} < {size_text(count)}; {counter}++) {{")
        self.loops.append((counter, count))
        with self.ranges.counter(counter, count):
            yield counter
        self.loops.pop()
        self.lines.append("}")

    @contextmanager
    def nest(self, counts: Sequence[Extent]) -> Iterator[tuple[str, ...]]:
        """Write loops around what is written inside, one in the other; gives their counters."""
        with ExitStack() as stack:
            yield tuple([stack.enter_context(self.loop(count)) for count in counts])

    @contextmanager
    def capture(self) -> Iterator[list[str]]:
        """Have what is written inside go into a list of its own."""
        outer, self.lines = self.lines, []
        inner = self.lines
        try:
            yield inner
        finally:
            self.lines = outer

    def text(self, name: str) -> str:
        """Return the function."""
        parameters = [f"long {parameter}" for parameter in self.parameters]
        arguments = ", ".join([*parameters, *map(_declaration, self.arguments)])
        body = [f"  {_local(array)}" for array in self.declared]
        allocated = [array.name for array in self.declared if _is_allocated(array)]
        depth = 1
        for line in self.lines:
            depth -= line.startswith("}")
            body.append("  " * depth + line)
            depth += line.endswith("{")
        start = len(self.declared)
        inner = "\n".join(body[start:])
        outer = "".join(f"{line}\n" for line in body[:start])
        freed = "".join(f"  free({array});\n" for array in reversed(allocated))
        return (
            f"void {name}({arguments})\n{{\n{outer}#pragma scop\n{inner}\n#pragma endscop\n"
            f"{freed}}}\n"
        )


def _elements(extents: Sequence[Extent], unknown: int) -> int:
    """Return how many elements there are, or a number for those that nobody knows yet."""
    if any(isinstance(size, LinearForm) for size in extents):
        return unknown
    return prod(map(number_of, extents))


def _declaration(array: CArray) -> str:
    return f"{C_TYPES[array.kind].value} {array.name}{_sizes(array.extents)}"


def _sizes(extents: Sequence[Extent]) -> str:
    return "".join(f"[{size_text(size)}]" for size in extents)


def _is_allocated(array: CArray) -> bool:
    """Whether an array's size is known only when the function is called: no stack may have it."""
    return any(isinstance(size, LinearForm) for size in array.extents)


def _local(array: CArray) -> str:
    """Return what declares an array of the function's own."""
    if not _is_allocated(array):
        return f"{_declaration(array)};"
    kind, inner = C_TYPES[array.kind].value, _sizes(array.extents[1:])
    pointer = f"(*{array.name}){inner}" if inner else f"*{array.name}"
    return f"{kind} {pointer} = malloc(sizeof({kind}{_sizes(array.extents)}));"


class StatementWriter(FunctionWriter):
    """Writes statements where the text is now."""

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self.start: list[str] = []
        self._zeros: dict[Extent, CArray] = {}

    def condition(self, chosen: CScalar) -> CScalar:
        """Return a condition that can be written at several statements."""
        if chosen.known_value is None and chosen.is_decided_by_facts:
            value = self.ranges.decided(chosen.facts)
            if value is not None:
                return literal(value)
        return chosen if chosen.is_affine or chosen.is_simple else self.store(chosen, "is")

    def make_simple(self, value: CScalar, wanted: str) -> CScalar:
        """Return a scalar that can be repeated without repeating work."""
        return value if value.is_simple or value.is_affine else self.store(value, wanted)

    def store(self, value: CScalar, wanted: str) -> CScalar:
        """Return a scalar that is computed here, and read from then on."""
        if value.is_simple and not value.is_affine:
            return value
        place = self.scalar(wanted, value.kind)
        self.assign(place, value)
        return read_place(place)

    def assign(self, place: CArray, value: CScalar) -> None:
        """Write a number to a place."""
        text = value.text
        if text.startswith("(") and _closes_at_end(text):
            text = text[1:-1]
        self.line(f"{place.text} = {text};")

    def copy(self, value: Any, place: Any) -> None:
        """Write a value to a place."""
        self.combine("", place, value)

    def add(self, place: Any, value: Any) -> None:
        """Add a value to what is at a place."""
        self.combine("add", place, load_value(place), value)

    def clear(self, place: Any) -> None:
        """Write zeros to a place."""
        for array in leaves(place):
            assert isinstance(array, CArray)
            with self.nest(array.extents) as counters:
                zero = {FLOAT: 0.0, INTEGER: 0, BOOL: False}[array.kind]
                self.assign(array.inside(counters), literal(zero))

    def combine(self, name: str, place: Any, *values: Any) -> None:
        """Write an operator of values, element by element; with no name, the value itself."""
        if place is None:
            return
        if isinstance(place, tuple):
            for at, part in enumerate(place):
                self.combine(
                    name,
                    part,
                    *(value[at] if isinstance(value, tuple) else value for value in values),
                )
            return
        with self.nest(place.extents) as counters:
            parts = [_element_at(value, counters) for value in values]
            self.assign(place.inside(counters), apply_operator(name, parts) if name else parts[0])

    def checked_subscript(self, where: CScalar, count: Extent) -> CScalar:
        """Return a computed subscript to write at, after reading there: that finds out if it is."""
        stored = self.store(where, "place")
        zeros = self.zero(count)
        checked = self.scalar("place", INTEGER)
        self.line(f"{checked.text} = {stored.text} + {zeros.name}[{stored.text}];")
        return read_place(checked)

    def zero(self, count: Extent) -> CArray:
        """Return an array of zeros, to be read where a subscript is to be checked."""
        count = self._whole(count)
        if count not in self._zeros:
            made = self.temporary("zeros", CArray("", (), (count,), INTEGER))
            self._zeros[count] = made
            counter = self.name("z")
            self.start += [
                f"for (long {counter} = 0; {counter} < {size_text(count)}; {counter}++) {{",
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
    return CScalar(name, INTEGER, is_affine=True, form=linear_form(name))


def _element_at(value: Any, counters: Sequence[str]) -> CScalar:
    if isinstance(value, CScalar):
        return value
    cscalar = load_value(value.inside(counters))
    assert isinstance(cscalar, CScalar)
    return cscalar


def extents_of(value: Any) -> tuple[tuple[Extent, ...], ...]:
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
