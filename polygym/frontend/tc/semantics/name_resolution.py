"""Resolution of a definition's names, before any range is known.

Names that stand for values disappear here: those of a ``where x = expression``, and scalar integer
parameters whose value is known. (A stride has to be known, since ``s * i`` is affine only then.)
What is left of a statement are indices, sizes, tensors and functions.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import assert_never

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.semantics.functions import INDEX_NAMES, function_named
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.printer import expression_text
from polygym.frontend.tc.syntax.tree import names_of_expression
from polygym.frontend.tc.syntax.where_values import ValueBindings

_NON_INTEGERS = {
    tree.ElementType.BOOL,
    tree.ElementType.FLOAT16,
    tree.ElementType.BFLOAT16,
    tree.ElementType.FLOAT,
    tree.ElementType.DOUBLE,
}


@dataclass(frozen=True, slots=True)
class ResolvedStatement:
    """One statement with values put in the place of their names.

    ``ranges`` are its ``i in lower:upper``; ``witnesses`` what stands after ``exists``;
    ``unused_values`` the values of a ``where``, which stand in the place of their names as well;
    ``conditions`` say where it runs. ``indices`` are in the order of the loops: those on the left,
    then the others as they come; ``helper_indices`` occur after ``exists`` alone, and are no loops.
    ``subscripts`` are the subscripts on the left.
    """

    statement: tree.TcStatement
    subscripts: tuple[tree.Expression, ...]
    value: tree.Expression
    ranges: tuple[tree.WhereRange, ...]
    witnesses: tuple[tree.Expression, ...]
    unused_values: tuple[tree.Expression, ...]
    conditions: tuple[tree.Expression, ...]
    indices: Mapping[str, SourceLocation]
    helper_indices: Mapping[str, SourceLocation]

    @property
    def evaluated(self) -> tuple[tree.Expression, ...]:
        """All expressions that an instance evaluates."""
        return (*self.conditions, *self.subscripts, self.value)

    @property
    def reductions(self) -> tuple[str, ...]:
        """The indices that are not on the left."""
        left = {name.name for part in self.subscripts for name in names_of_expression(part)}
        if any(is_computed(part) for part in self.subscripts):
            return tuple(self.indices)
        return tuple(name for name in self.indices if name not in left)


def reads_tensor(condition: tree.Expression) -> bool:
    """Whether a condition reads a tensor, or calls a function."""
    return any(isinstance(part, tree.ElementOrCall) for part in tree.parts_of(condition))


def is_computed(subscript: tree.Expression) -> bool:
    """Whether a subscript has to be evaluated: it may be any element.

    It reads a tensor, calls a function (``min``, ``abs``), chooses, or divides by a size.
    """
    for part in tree.parts_of(subscript):
        match part:
            case tree.ElementOrCall() | tree.ConditionalExpression():
                return True
            case tree.InfixExpression(
                tree.InfixOperator.DIVIDE | tree.InfixOperator.REMAINDER, _, divisor
            ) if any(isinstance(name, tree.NameUse) for name in tree.parts_of(divisor)):
                return True
    return False


def size_locations(definition: tree.TcDefinition) -> dict[str, SourceLocation]:
    """Return the names of sizes, in the order in which they occur."""
    locations: dict[str, SourceLocation] = {}
    declared = [parameter.sizes for parameter in definition.parameters]
    declared += [output.sizes for output in definition.outputs if output.sizes is not None]
    for sizes in declared:
        for size in sizes:
            if isinstance(size, tree.NameUse):
                locations.setdefault(size.name, size.location)
    return locations


def required_constants(definition: tree.TcDefinition) -> tuple[str, ...]:
    """Return the scalar integer parameters that must have a value before anything is compiled.

    They are those in subscripts and in the ends of ranges, or in the values of names in these.
    """
    scalars = scalar_parameters(definition)
    tensors = {parameter.name for parameter in definition.parameters} | {
        statement.tensor for statement in definition.statements
    }
    result: dict[str, None] = {}

    def see(expression: tree.Expression) -> None:
        left, seen = [expression], set[str]()
        while left:
            for use in names_of_expression(left.pop()):
                if isinstance(use, tree.NameUse) and use.name in scalars:
                    result[use.name] = None
                elif isinstance(use, tree.NameUse) and use.name in values and use.name not in seen:
                    seen.add(use.name)
                    left.append(values[use.name])

    for statement in definition.statements:
        values = {
            where.name: where.value
            for where in statement.where
            if isinstance(where, tree.WhereValue)
        }
        parts = [statement.value]
        for subscript in statement.subscripts:
            if not isinstance(subscript, tree.NameUse):
                see(subscript)
        for entry in statement.where:
            if isinstance(entry, tree.WhereRange):
                see(entry.lower)
                see(entry.upper)
            elif isinstance(entry, tree.WhereCondition) and not reads_tensor(entry.condition):
                see(entry.condition)
            else:
                parts += tree.operands_of(entry)
        for part in parts:
            for element in names_of_expression(part):
                if isinstance(element, tree.ElementOrCall) and element.name in tensors:
                    for argument in element.arguments:
                        see(argument)
    return tuple(name for name in result if scalars[name].type not in _NON_INTEGERS)


_EXPECTED_VALUES = {
    tree.AssignKind.ADD: "to which something could be added",
    tree.AssignKind.MULTIPLY: "that could be multiplied",
    tree.AssignKind.MINIMUM: "of which the minimum could be taken",
    tree.AssignKind.MAXIMUM: "of which the maximum could be taken",
}


def check_initialized(definition: tree.TcDefinition) -> None:
    """Refuse updates of what has no values yet; for that no range needs to be known.

    Raises:
        SourceError: a statement such as ``C(i) += A(i)`` is the first that assigns a result.
    """
    known = {parameter.name for parameter in definition.parameters}
    for statement in definition.statements:
        name, assign = statement.tensor, statement.assign
        if name not in known and assign is not tree.AssignKind.SET and not statement.initializes:
            raise SourceError(
                statement.location,
                f"{name} has no values yet {_EXPECTED_VALUES[assign]}",
                f"{assign.value}! begins with the neutral element",
            )
        known.add(name)


def check_names(definition: tree.TcDefinition) -> None:
    """Refuse names that mean two things.

    Raises:
        SourceError: a parameter, an output or a size has the name of another one.
    """
    sizes = size_locations(definition)
    read = {
        size.name
        for parameter in definition.parameters
        for size in parameter.sizes
        if isinstance(size, tree.NameUse)
    }
    for name, place in sizes.items():
        if name not in read:
            raise SourceError(place, f"{name} is a size of no parameter: its value cannot be known")
    seen: dict[str, str] = dict.fromkeys(sizes, "a size")
    for parameter in definition.parameters:
        _declare_name(parameter.name, parameter.location, "a parameter", seen)
    returned: set[str] = set()
    for output in definition.outputs:
        if output.name in returned:
            raise SourceError(output.location, f"{output.name} is returned twice")
        returned.add(output.name)
        if seen.get(output.name) != "a parameter":
            _declare_name(output.name, output.location, "an output", seen)
    for statement in definition.statements:
        if statement.tensor in sizes:
            raise SourceError(statement.location, f"{statement.tensor} is a size, no tensor")


def _declare_name(name: str, place: SourceLocation, what: str, seen: dict[str, str]) -> None:
    if name in seen:
        raise SourceError(place, f"{name} is {seen[name]} already")
    seen[name] = what


def resolve_statement(
    statement: tree.TcStatement, definition: tree.TcDefinition, constants: Mapping[str, int]
) -> ResolvedStatement:
    """Return what a statement says of indices, sizes, tensors and functions alone.

    Raises:
        SourceError: a name means two things, or an index is given twice.
    """
    tensors = {parameter.name for parameter in definition.parameters}
    tensors |= {output.name for output in definition.outputs}
    tensors |= {statement.tensor for statement in definition.statements}
    sizes = size_locations(definition)
    taken = {**dict.fromkeys(tensors, "a tensor"), **dict.fromkeys(sizes, "a size")}
    known = {
        parameter.name: tree.NumberLiteral(
            constants[parameter.name], str(constants[parameter.name]), parameter.location
        )
        for parameter in definition.parameters
        if parameter.name in constants
    }
    values = ValueBindings.of(statement.where, known)
    ranges: list[tree.WhereRange] = []
    named: list[str] = []
    witnesses: list[tree.WhereExists] = []
    conditions: list[tree.WhereCondition] = []
    for entry in statement.where:
        match entry:
            case tree.WhereValue(name, _, place):
                if name in taken or name in values.substituted:
                    raise SourceError(place, f"{name} is {taken.get(name, 'a value')} already")
                values.add(entry)
                named.append(name)
            case tree.WhereRange(name, lower, upper, place):
                if name in taken or name in values.substituted:
                    raise SourceError(place, f"{name} is {taken.get(name, 'a value')}, no index")
                if name in {entry.name for entry in ranges}:
                    raise SourceError(place, f"the range of {name} is given twice")
                lower, upper = (values.substitute(end, place) for end in (lower, upper))
                ranges.append(tree.WhereRange(name, lower, upper, place))
            case tree.WhereExists():
                witnesses.append(entry)
            case tree.WhereCondition():
                conditions.append(entry)
            case _:
                assert_never(entry)
    subscripts = tuple(
        _resolve_subscript(subscript, taken, values, statement.location)
        for subscript in statement.subscripts
    )
    left = _indices_on_the_left(subscripts, taken)
    value = values.substitute(statement.value, statement.location)
    seen = tuple(_witness(exists, values, tensors) for exists in witnesses)
    indices = {**left, **_indices(value, taken, left)}
    holding = tuple(values.substitute(entry.condition, entry.location) for entry in conditions)
    for expression in holding:
        indices |= _indices(expression, taken, indices)
    helpers: dict[str, SourceLocation] = {}
    for expression in seen:
        helpers |= _indices(expression, taken, {**indices, **helpers})
    for given in ranges:
        if given.name not in indices and given.name not in helpers:
            raise SourceError(given.location, f"{given.name} has a range and is not used")
    asides = tuple(values.substituted[name] for name in named)
    for expression in asides:
        _check_aside(expression, taken, {**indices, **helpers})
    return ResolvedStatement(
        statement, subscripts, value, tuple(ranges), seen, asides, holding, indices, helpers
    )


def _resolve_subscript(
    part: tree.Expression, taken: Mapping[str, str], values: ValueBindings, place: SourceLocation
) -> tree.Expression:
    """Return a subscript on the left with values in the place of names; an index is none."""
    if not isinstance(part, tree.NameUse):
        return values.substitute(part, place)
    if part.name in taken or part.name in values.substituted:
        raise SourceError(
            part.location, f"{part.name} is {taken.get(part.name, 'a value')}, no index"
        )
    return part


def _indices_on_the_left(
    subscripts: Sequence[tree.Expression], taken: Mapping[str, str]
) -> dict[str, SourceLocation]:
    """Return the indices on the left, with where each stands."""
    locations: dict[str, SourceLocation] = {}
    for part in subscripts:
        for use in names_of_expression(part):
            is_element = isinstance(use, tree.ElementOrCall)
            if not is_element and use.name in taken and taken[use.name] != "a size":
                raise SourceError(use.location, f"{use.name} is {taken[use.name]}, no index")
        if isinstance(part, tree.NameUse) and not part.name[0].isdigit():
            own = {part.name: part.location}  # also where functions are called so
        else:
            own = _indices(part, taken, {})
        for name, where in own.items():
            locations.setdefault(name, where)
    return locations


def _witness(entry: tree.WhereExists, values: ValueBindings, tensors: Set[str]) -> tree.Expression:
    """Return what stands after ``exists``; refuse it if it accesses nothing.

    A function that there is not counts: it is refused for that later.
    """
    expression = values.substitute(entry.expression, entry.location)
    for call in names_of_expression(expression):
        if isinstance(call, tree.ElementOrCall) and (
            call.name in tensors or function_named(call.name) is None
        ):
            return expression
    raise SourceError(
        entry.location,
        f"exists: expected an access such as A(i, k), found {expression_text(entry.expression)}",
        "exists says that its accesses count for ranges, nothing else; what is computed only under "
        "a condition is condition ? value : otherwise",
    )


def _check_aside(
    value: tree.Expression, taken: Mapping[str, str], indices: Mapping[str, SourceLocation]
) -> None:
    """Refuse a value that is not used, and has names that mean nothing because of that."""
    for use in names_of_expression(value):
        if use.name in taken or use.name in indices:
            continue
        if isinstance(use, tree.ElementOrCall) and function_named(use.name) is None:
            return  # refused for that later
        if isinstance(use, tree.NameUse):
            raise SourceError(
                use.location, f"{use.name} is neither an index of the statement nor a size"
            )


def _indices(
    expression: tree.Expression, taken: Mapping[str, str], known: Mapping[str, SourceLocation]
) -> dict[str, SourceLocation]:
    """Return the names in an expression that are indices, but for those that are known."""
    locations: dict[str, SourceLocation] = {}
    for use in names_of_expression(expression):
        if isinstance(use, tree.NameUse) and use.name not in taken and use.name not in known:
            if function_named(use.name) is not None and use.name not in INDEX_NAMES:
                raise SourceError(use.location, f"{use.name} is a function: expected ( behind it")
            if use.name[0].isdigit():
                raise SourceError(use.location, f"expected a number or a name, found {use.name}")
            locations.setdefault(use.name, use.location)
    return locations


def scalar_parameters(definition: tree.TcDefinition) -> dict[str, tree.TcParameter]:
    """Return the parameters without dimensions."""
    return {parameter.name: parameter for parameter in definition.parameters if not parameter.sizes}
