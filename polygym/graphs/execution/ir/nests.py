"""Loop nests as values: what a kernel computes, before it is the text of a comprehension.

A nest is a few statements over indices with known extents. Subscripts are sums of indices times
numbers; so a transposed, sliced or expanded array is read where it lies, by other subscripts. A
subscript may also be an element of an array of integers.

A nest as the text of a comprehension.

Names are by position, so that equal work has equal text, by which kernels are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from polygym.graphs.operators.definition import tc_type


@dataclass(frozen=True, slots=True)
class AffineIndex:
    """A sum of indices times numbers, and a number.

    >>> (index_named("h") * 2 + index_named("k") + (-1)).text()
    '2 * h + k - 1'
    """

    terms: tuple[tuple[str, int], ...] = ()
    offset: int = 0

    def __add__(self, other: AffineIndex | int) -> AffineIndex:
        """Return a sum."""
        if isinstance(other, int):
            return AffineIndex(self.terms, self.offset + other)
        factors = dict(self.terms)
        for name, factor in other.terms:
            factors[name] = factors.get(name, 0) + factor
        kept = tuple((name, factor) for name, factor in factors.items() if factor)
        return AffineIndex(kept, self.offset + other.offset)

    def __mul__(self, factor: int) -> AffineIndex:
        """Return a multiple."""
        if factor == 0:
            return AffineIndex()
        return AffineIndex(
            tuple((name, own * factor) for name, own in self.terms), self.offset * factor
        )

    @property
    def single_index(self) -> str | None:
        """The index that this is and nothing else, if it is one."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and self.offset == 0:
            return self.terms[0][0]
        return None

    def text(self) -> str:
        """Return the text in a comprehension."""
        words = [name if factor == 1 else f"{factor} * {name}" for name, factor in self.terms]
        if self.offset or not words:
            words.append(str(self.offset))
        return " + ".join(words).replace("+ -", "- ")


def index_named(name: str) -> AffineIndex:
    """Return an index."""
    return AffineIndex(((name, 1),))


def constant_index(value: int) -> AffineIndex:
    """Return a number."""
    return AffineIndex((), value)


@dataclass(frozen=True, slots=True)
class ArrayAccess:
    """An element of an array."""

    array: str
    subscripts: tuple[Subscript, ...]


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """A text with ``{0}``, ``{1}`` … in the places of expressions."""

    text: str
    parts: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class GuardedSelect:
    """One expression where all subscripts are within their ranges, another otherwise."""

    ranges: tuple[tuple[AffineIndex, int, int], ...]
    inside: Expression
    outside: Expression


Expression: TypeAlias = ArrayAccess | TextTemplate | GuardedSelect
Subscript: TypeAlias = AffineIndex | ArrayAccess


@dataclass(frozen=True, slots=True)
class NestArray:
    """A name, a shape and the type of the elements."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class NestStatement:
    """``target(at) operator value``."""

    target: str
    subscripts: tuple[str, ...]
    operator: str
    value: Expression


@dataclass(frozen=True, slots=True)
class TensorNest:
    """Statements over indices; ``result`` is the array that comes out.

    ``arrays`` has the parameters first, as many as ``parameter_count`` says; the rest is temporary
    but for the result, which may be the first parameter: then that is updated.
    """

    extents: tuple[tuple[str, int], ...]
    arrays: tuple[NestArray, ...]
    parameter_count: int
    statements: tuple[NestStatement, ...]
    result: str

    @property
    def parameters(self) -> tuple[NestArray, ...]:
        """The arrays that a call gives."""
        return self.arrays[: self.parameter_count]

    def array(self, name: str) -> NestArray:
        """Return an array."""
        return next(nest_array for nest_array in self.arrays if nest_array.name == name)


def array_accesses(expression: Expression) -> Iterator[ArrayAccess]:
    """Yield all accesses, those in subscripts too."""
    match expression:
        case ArrayAccess(_, at):
            yield expression
            for subscript in at:
                if isinstance(subscript, ArrayAccess):
                    yield from array_accesses(subscript)
        case TextTemplate(_, parts):
            for part in parts:
                yield from array_accesses(part)
        case GuardedSelect(_, inside, outside):
            yield from array_accesses(inside)
            yield from array_accesses(outside)


def condition_indices(expression: Expression) -> Iterator[AffineIndex]:
    """Yield what conditions ask about."""
    match expression:
        case ArrayAccess():
            return
        case TextTemplate(_, parts):
            for part in parts:
                yield from condition_indices(part)
        case GuardedSelect(ranges, inside, outside):
            yield from (index for index, _, _ in ranges)
            yield from condition_indices(inside)
            yield from condition_indices(outside)


def statement_indices(statement: NestStatement) -> list[str]:
    """Return the indices of a statement: of its left side, then of its right one."""
    result = dict.fromkeys(statement.subscripts)
    for access in array_accesses(statement.value):
        for subscript in access.subscripts:
            if isinstance(subscript, AffineIndex):
                result.update(dict.fromkeys(name for name, _ in subscript.terms))
    for condition in condition_indices(statement.value):
        result.update(dict.fromkeys(name for name, _ in condition.terms))
    return list(result)


def map_expression(
    expression: Expression,
    access: Callable[[ArrayAccess], Expression],
    affine: Callable[[AffineIndex], AffineIndex] = lambda index: index,
) -> Expression:
    """Return an expression with accesses, and subscripts in conditions, replaced.

    ``access`` gets accesses whose subscripts that are accesses have been replaced already.
    """
    match expression:
        case ArrayAccess(array, at):
            inner: list[Subscript] = []
            for subscript in at:
                if isinstance(subscript, ArrayAccess):
                    changed = map_expression(subscript, access, affine)
                    assert isinstance(changed, ArrayAccess)
                    inner.append(changed)
                else:
                    inner.append(subscript)
            return access(ArrayAccess(array, tuple(inner)))
        case TextTemplate(text, parts):
            return TextTemplate(text, tuple(map_expression(part, access, affine) for part in parts))
        case GuardedSelect(ranges, inside, outside):
            return GuardedSelect(
                tuple((affine(affine_index), low, high) for affine_index, low, high in ranges),
                map_expression(inside, access, affine),
                map_expression(outside, access, affine),
            )


def expression_size(expression: Expression) -> int:
    """Return how many parts the text of an expression has, about."""
    match expression:
        case ArrayAccess(_, at):
            return 1 + len(at)
        case TextTemplate(text, parts):
            used = (
                text.count(f"{{{place}}}") * expression_size(part)
                for place, part in enumerate(parts)
            )
            return text.count(" ") // 2 + 1 + sum(used)
        case GuardedSelect(ranges, inside, outside):
            return 4 * len(ranges) + expression_size(inside) + expression_size(outside)


def operation_count(nest: TensorNest) -> int:
    """Return how many operations a nest does, one for every function and every term of a sum."""
    extents: Mapping[str, int] = dict(nest.extents)
    total = 0
    for statement in nest.statements:
        each = _template_count(statement.value) + (statement.operator != "=")
        total += each * prod(extents[name] for name in statement_indices(statement))
    return total


def _template_count(expression: Expression) -> int:
    match expression:
        case ArrayAccess():
            return 0
        case TextTemplate(_, parts):
            return (1 if parts else 0) + sum(map(_template_count, parts))
        case GuardedSelect(_, inside, outside):
            return max(_template_count(inside), _template_count(outside))


def nest_text(nest: TensorNest) -> str:
    """Return the text of a comprehension.

    >>> from polygym.graphs.execution.ir.nests import NestArray, NestStatement, index_named
    >>> i, a, b = index_named("i"), NestArray("a", (4,), "float32"), NestArray("b", (4,), "float32")
    >>> twice = TextTemplate("(2.0f * {0})", (ArrayAccess("a", (i,)),))
    >>> double = NestStatement("b", ("i",), "=", twice)
    >>> print(nest_text(TensorNest((("i", 4),), (a, b), 1, (double,), "b")))
    def kernel(float(4) A0) -> (R) {
      R(i0) = (2.0f * A0(i0)) where i0 in 0:4
    }
    """
    arrays = {array.name: f"A{place}" for place, array in enumerate(nest.parameters)}
    is_update = nest.result in arrays
    for place, nest_array in enumerate(nest.arrays[nest.parameter_count :]):
        arrays[nest_array.name] = "R" if nest_array.name == nest.result else f"T{place}"
    indices = {name: f"i{place}" for place, (name, _) in enumerate(nest.extents)}
    extents = dict(nest.extents)
    lines = []
    for statement in nest.statements:
        ranges = [
            f"{indices[index]} in 0:{extents[index]}" for index in statement_indices(statement)
        ]
        subscripts = ", ".join(indices[subscript] for subscript in statement.subscripts)
        left = f"{arrays[statement.target]}({subscripts})"
        right = _expression_text(statement.value, arrays, indices)
        lines.append(f"  {left} {statement.operator} {right} where {', '.join(ranges)}")
    parameters = ", ".join(
        f"{tc_type(parameter.dtype)}({', '.join(map(str, parameter.shape))}) "
        f"{arrays[parameter.name]}"
        for parameter in nest.parameters
    )
    result = arrays[nest.result] if is_update else "R"
    return "\n".join([f"def kernel({parameters}) -> ({result}) {{", *lines, "}"])


def _expression_text(
    expression: Expression, arrays: dict[str, str], indices: dict[str, str]
) -> str:
    match expression:
        case ArrayAccess(array, at):
            result = (
                _rename_indices(subscript, indices).text()
                if isinstance(subscript, AffineIndex)
                else _expression_text(subscript, arrays, indices)
                for subscript in at
            )
            return f"{arrays[array]}({', '.join(result)})"
        case TextTemplate(text, parts):
            return text.format(*(_expression_text(part, arrays, indices) for part in parts))
        case GuardedSelect(ranges, inside, outside):
            asked = []
            for index, low, high in ranges:
                value = _rename_indices(index, indices).text()
                asked += [f"{value} >= {low}", f"{value} < {high}"]
            texts = (_expression_text(part, arrays, indices) for part in (inside, outside))
            return "({} ? {} : {})".format(" && ".join(asked), *texts)


def _rename_indices(affine: AffineIndex, indices: dict[str, str]) -> AffineIndex:
    return AffineIndex(
        tuple((indices[name], factor) for name, factor in affine.terms), affine.offset
    )
