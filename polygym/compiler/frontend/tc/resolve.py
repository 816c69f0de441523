"""What the names of a definition mean, before any range is known.

Names that stand for values disappear here: those of a ``where x = expression``, and scalar integer
parameters whose value is known. (A stride has to be known, since ``s * i`` is affine only then.)
What is left of a statement are indices, sizes, tensors and functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import assert_never

from polygym.compiler.frontend.tc.functions import INDEX_NAMES, function_named
from polygym.compiler.frontend.tc.printer import text_of
from polygym.compiler.frontend.tc.syntax import (
    Assign,
    Definition,
    Element,
    Exists,
    Expression,
    In,
    Let,
    Name,
    Number,
    Parameter,
    Scalar,
    Statement,
    children,
)
from polygym.compiler.frontend.tc.values import Values
from polygym.errors import Place, SourceError

_NOT_WHOLE = {Scalar.BOOL, Scalar.FLOAT16, Scalar.BFLOAT16, Scalar.FLOAT, Scalar.DOUBLE}


@dataclass(frozen=True, slots=True)
class Meaning:
    """One statement with values put in the place of their names.

    ``ranges`` are its ``i in lower:upper``; ``witnesses`` what stands after ``exists``; ``asides``
    the values of a ``where``, which stand in the place of their names as well. ``indices``
    are in the order of the loops: those on the left, then the others as they come; ``helpers``
    occur after ``exists`` alone, and are no loops. ``left`` are the subscripts on the left.
    """

    statement: Statement
    left: tuple[Expression, ...]
    value: Expression
    ranges: tuple[In, ...]
    witnesses: tuple[Expression, ...]
    asides: tuple[Expression, ...]
    indices: Mapping[str, Place]
    helpers: Mapping[str, Place]

    @property
    def reductions(self) -> tuple[str, ...]:
        """The indices that are not on the left."""
        left = {one.name for part in self.left for one in names_in(part)}
        return tuple(name for name in self.indices if name not in left)


def names_in(expression: Expression) -> Iterator[Name | Element]:
    """Yield every name that stands in an expression, from left to right."""
    left = [expression]
    while left:
        one = left.pop()
        if isinstance(one, Name | Element):
            yield one
        left += reversed(tuple(children(one)))


def sizes_of(definition: Definition) -> dict[str, Place]:
    """Return the names of sizes, in the order in which they occur."""
    found: dict[str, Place] = {}
    declared = [one.sizes for one in definition.parameters]
    declared += [one.sizes for one in definition.outputs if one.sizes is not None]
    for sizes in declared:
        for size in sizes:
            if isinstance(size, Name):
                found.setdefault(size.name, size.place)
    return found


def needed_values(definition: Definition) -> tuple[str, ...]:
    """Return the scalar integer parameters that must have a value before anything is compiled.

    They are those in subscripts and in the ends of ranges, or in the values of names in these.
    """
    scalars = {one.name: one for one in definition.parameters if not one.sizes}
    tensors = {one.name for one in definition.parameters} | {
        one.tensor for one in definition.statements
    }
    found: dict[str, None] = {}

    def see(expression: Expression) -> None:
        left, seen = [expression], set[str]()
        while left:
            for one in names_in(left.pop()):
                if isinstance(one, Name) and one.name in scalars:
                    found[one.name] = None
                elif isinstance(one, Name) and one.name in values and one.name not in seen:
                    seen.add(one.name)
                    left.append(values[one.name])

    for statement in definition.statements:
        values = {one.name: one.value for one in statement.where if isinstance(one, Let)}
        parts = [statement.value]
        for one in statement.left:
            if not isinstance(one, Name):
                see(one)
        for entry in statement.where:
            match entry:
                case In(lower=lower, upper=upper):
                    see(lower)
                    see(upper)
                case Let(value=value) | Exists(expression=value):
                    parts.append(value)
                case _:
                    assert_never(entry)
        for part in parts:
            for element in names_in(part):
                if isinstance(element, Element) and element.name in tensors:
                    for argument in element.arguments:
                        see(argument)
    return tuple(name for name in found if scalars[name].type not in _NOT_WHOLE)


_WANTED = {
    Assign.ADD: "to which something could be added",
    Assign.MULTIPLY: "that could be multiplied",
    Assign.MINIMUM: "of which the minimum could be taken",
    Assign.MAXIMUM: "of which the maximum could be taken",
}


def check_beginnings(definition: Definition) -> None:
    """Refuse updates of what has no values yet; for that no range needs to be known.

    Raises:
        SourceError: a statement such as ``C(i) += A(i)`` is the first that assigns a result.
    """
    known = {one.name for one in definition.parameters}
    for statement in definition.statements:
        name, assign = statement.tensor, statement.assign
        if name not in known and assign is not Assign.SET and not statement.initialises:
            raise SourceError(
                statement.place,
                f"{name} has no values yet {_WANTED[assign]}",
                f"{assign.value}! begins with the neutral element",
            )
        known.add(name)


def check_names(definition: Definition) -> None:
    """Refuse names that mean two things.

    Raises:
        SourceError: a parameter, an output or a size has the name of another one.
    """
    sizes = sizes_of(definition)
    read = {
        size.name for one in definition.parameters for size in one.sizes if isinstance(size, Name)
    }
    for name, place in sizes.items():
        if name not in read:
            raise SourceError(place, f"{name} is a size of no parameter: its value cannot be known")
    seen: dict[str, str] = dict.fromkeys(sizes, "a size")
    for parameter in definition.parameters:
        _claim(parameter.name, parameter.place, "a parameter", seen)
    returned: set[str] = set()
    for output in definition.outputs:
        if output.name in returned:
            raise SourceError(output.place, f"{output.name} is returned twice")
        returned.add(output.name)
        if seen.get(output.name) != "a parameter":
            _claim(output.name, output.place, "an output", seen)
    for statement in definition.statements:
        if statement.tensor in sizes:
            raise SourceError(statement.place, f"{statement.tensor} is a size, no tensor")


def _claim(name: str, place: Place, what: str, seen: dict[str, str]) -> None:
    if name in seen:
        raise SourceError(place, f"{name} is {seen[name]} already")
    seen[name] = what


def meaning_of(
    statement: Statement,
    definition: Definition,
    constants: Mapping[str, int],
) -> Meaning:
    """Return what a statement says of indices, sizes, tensors and functions alone.

    Raises:
        SourceError: a name means two things, or an index is given twice.
    """
    tensors = {one.name for one in definition.parameters}
    tensors |= {one.name for one in definition.outputs}
    tensors |= {one.tensor for one in definition.statements}
    sizes = sizes_of(definition)
    taken = {**dict.fromkeys(tensors, "a tensor"), **dict.fromkeys(sizes, "a size")}
    known = {
        one.name: Number(constants[one.name], str(constants[one.name]), one.place)
        for one in definition.parameters
        if one.name in constants
    }
    values = Values.of(statement.where, known)
    ranges: list[In] = []
    named: list[str] = []
    witnesses: list[Exists] = []
    for entry in statement.where:
        match entry:
            case Let(name, _, place):
                if name in taken or name in values.found:
                    raise SourceError(place, f"{name} is {taken.get(name, 'a value')} already")
                values.add(entry)
                named.append(name)
            case In(name, lower, upper, place):
                if name in taken or name in values.found:
                    raise SourceError(place, f"{name} is {taken.get(name, 'a value')}, no index")
                if name in {one.name for one in ranges}:
                    raise SourceError(place, f"the range of {name} is given twice")
                lower, upper = (values.put_into(one, place) for one in (lower, upper))
                ranges.append(In(name, lower, upper, place))
            case Exists():
                witnesses.append(entry)
            case _:
                assert_never(entry)
    subscripts = tuple(_left(one, taken, values, statement.place) for one in statement.left)
    left = _indices_on_the_left(subscripts, taken)
    value = values.put_into(statement.value, statement.place)
    seen = tuple(_witness(one, values, tensors) for one in witnesses)
    indices = {**left, **_indices(value, taken, left)}
    helpers: dict[str, Place] = {}
    for one in seen:
        helpers |= _indices(one, taken, {**indices, **helpers})
    for given in ranges:
        if given.name not in indices and given.name not in helpers:
            raise SourceError(given.place, f"{given.name} has a range and is not used")
    asides = tuple(values.found[name] for name in named)
    for one in asides:
        _check_aside(one, taken, {**indices, **helpers})
    return Meaning(statement, subscripts, value, tuple(ranges), seen, asides, indices, helpers)


def _left(part: Expression, taken: Mapping[str, str], values: Values, place: Place) -> Expression:
    """Return a subscript on the left with values in the place of names; an index is none."""
    if not isinstance(part, Name):
        return values.put_into(part, place)
    if part.name in taken or part.name in values.found:
        raise SourceError(part.place, f"{part.name} is {taken.get(part.name, 'a value')}, no index")
    return part


def _indices_on_the_left(
    subscripts: Sequence[Expression], taken: Mapping[str, str]
) -> dict[str, Place]:
    """Return the indices on the left, with where each stands."""
    found: dict[str, Place] = {}
    alone: set[str] = set()
    for part in subscripts:
        for one in names_in(part):
            if one.name in taken and taken[one.name] != "a size":
                raise SourceError(one.place, f"{one.name} is {taken[one.name]}, no index")
        if isinstance(part, Name) and not part.name[0].isdigit():
            if part.name in alone:
                raise SourceError(part.place, f"{part.name} stands twice on the left")
            own = {part.name: part.place}  # also where functions are called so
            alone.add(part.name)
        else:
            own = _indices(part, taken, {})
            if not own:
                raise SourceError(part.place, f"expected an index in {text_of(part)} on the left")
        for name, where in own.items():
            found.setdefault(name, where)
    return found


def _witness(entry: Exists, values: Values, tensors: Set[str]) -> Expression:
    """Return what stands after ``exists``; refuse it if it accesses nothing.

    A function that there is not counts: it is refused for that later.
    """
    found = values.put_into(entry.expression, entry.place)
    for one in names_in(found):
        if isinstance(one, Element) and (one.name in tensors or function_named(one.name) is None):
            return found
    raise SourceError(
        entry.place,
        f"exists: expected an access such as A(i, k), found {text_of(entry.expression)}",
        "exists says that its accesses count for ranges, nothing else; what is computed only under "
        "a condition is condition ? value : otherwise",
    )


def _check_aside(value: Expression, taken: Mapping[str, str], indices: Mapping[str, Place]) -> None:
    """Refuse a value that is not used, and has names that mean nothing because of that."""
    for one in names_in(value):
        if one.name in taken or one.name in indices:
            continue
        if isinstance(one, Element) and function_named(one.name) is None:
            return  # refused for that later
        if isinstance(one, Name):
            raise SourceError(
                one.place, f"{one.name} is neither an index of the statement nor a size"
            )


def _indices(
    expression: Expression, taken: Mapping[str, str], known: Mapping[str, Place]
) -> dict[str, Place]:
    """Return the names in an expression that are indices, but for those that are known."""
    found: dict[str, Place] = {}
    for one in names_in(expression):
        if isinstance(one, Name) and one.name not in taken and one.name not in known:
            if function_named(one.name) is not None and one.name not in INDEX_NAMES:
                raise SourceError(one.place, f"{one.name} is a function: expected ( behind it")
            if one.name[0].isdigit():
                raise SourceError(one.place, f"expected a number or a name, found {one.name}")
            found.setdefault(one.name, one.place)
    return found


def scalar_parameters(definition: Definition) -> dict[str, Parameter]:
    """Return the parameters without dimensions."""
    return {one.name: one for one in definition.parameters if not one.sizes}
