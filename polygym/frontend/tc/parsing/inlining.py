"""Calls of other definitions: ``(C, D) = f(A, B)`` becomes the statements of f.

::

    def layer(float(B, M) I, float(N, M) W) -> (O) { O(b, n) +=! I(b, m) * W(n, m) }
    def two(float(B, M) I, float(N, M) V, float(K, N) W) -> (O) {
      T = layer(I, V)
      O = layer(T, W)
    }

is the same as ``two`` with ``T(b, n) +=! I(b, m) * V(n, m)`` and ``O(b, n) +=! T(b, m) * W(n, m)``.
So what is called is fused, tuned and checked as if it had been written there. Its parameters become
the arguments, its outputs what is assigned; what it keeps to itself gets names of its own. Where it
updates a parameter, the argument is copied first, unless it is what is assigned: ``A = f(A)``.

What a definition declares about sizes is checked here, as far as they are known without inference
(:mod:`polygym.frontend.tc.semantics.known_shapes`). Where one that counts is open, the call is
refused:
one that stands at two places, or in a statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.semantics.functions import function_named
from polygym.frontend.tc.semantics.known_shapes import (
    KnownShapes,
    KnownSize,
    is_same_size,
    size_text,
)
from polygym.frontend.tc.semantics.name_resolution import names_of_expression, required_constants
from polygym.frontend.tc.semantics.types import SCALAR_TYPES, check_fits
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.printer import expression_text
from polygym.frontend.tc.syntax.tree import rename_statement
from polygym.frontend.tc.syntax.where_values import substitute_values

_UNKNOWN_SIZE_HINT = (
    "only parameters, declared outputs and what is indexed like them have sizes by name"
)

# Definitions that call each other twice double them: so many are lowered in about a second.
_MOST_STATEMENTS = 500

# Of other types a number is converted: with ``float s``, s / 2 is 1.5 where s is 3.
_COMPUTED_AS_INT = (
    tree.ElementType.INT32,
    tree.ElementType.INT16,
    tree.ElementType.INT8,
    tree.ElementType.UINT16,
    tree.ElementType.UINT8,
)


@dataclass(frozen=True, slots=True)
class DefinitionCall:
    """``(C, D) = f(A, B)``, with the definition that is called."""

    outputs: tuple[tree.NameUse, ...]
    callee: tree.TcDefinition
    arguments: tuple[tree.NameUse | tree.NumberLiteral, ...]
    location: SourceLocation


def inline_calls(
    parameters: Sequence[tree.TcParameter],
    outputs: Sequence[tree.TcOutput],
    body: Sequence[tree.TcStatement | DefinitionCall],
) -> tuple[tree.TcStatement, ...]:
    """Return the statements of a definition, those of what it calls among them.

    Raises:
        SourceError: a call does not fit what it calls.
    """
    if not any(isinstance(one, DefinitionCall) for one in body):
        return tuple(statement for statement in body if isinstance(statement, tree.TcStatement))
    return _CallInliner.of(parameters, outputs, body).statements(body)


@dataclass(slots=True)
class _CallInliner:
    """A definition that calls others, as far as it has been read; ``used_names`` are its names."""

    used_names: set[str]
    known_shapes: KnownShapes

    @staticmethod
    def of(
        parameters: Sequence[tree.TcParameter],
        outputs: Sequence[tree.TcOutput],
        body: Sequence[tree.TcStatement | DefinitionCall],
    ) -> _CallInliner:
        names: set[str] = set()
        for name, sizes in [
            *((parameter.name, parameter.sizes) for parameter in parameters),
            *((output.name, output.sizes or ()) for output in outputs),
        ]:
            names |= {name, *(size.name for size in sizes if isinstance(size, tree.NameUse))}
        for tc_output in body:
            if isinstance(tc_output, DefinitionCall):
                names |= {name.name for name in tc_output.outputs}
            else:
                names |= {tc_output.tensor, *_local_names(tc_output)}
        return _CallInliner(names, KnownShapes.of(parameters, outputs))

    def statements(
        self, body: Sequence[tree.TcStatement | DefinitionCall]
    ) -> tuple[tree.TcStatement, ...]:
        """Return the statements, one call after the other put in its place."""
        tc_statements: list[tree.TcStatement] = []
        for call in body:
            made = self._called(call) if isinstance(call, DefinitionCall) else [call]
            if (
                isinstance(call, DefinitionCall)
                and len(tc_statements) + len(made) > _MOST_STATEMENTS
            ):
                raise SourceError(
                    call.location,
                    f"{call.callee.name}: with the statements of what is called in its place there "
                    f"are more than {_MOST_STATEMENTS:,} here",
                )
            for statement in made:
                tc_statements.append(statement)
                self.known_shapes.add_statement(statement)
        return tuple(tc_statements)

    def _called(self, call: DefinitionCall) -> list[tree.TcStatement]:
        """Return the statements of a call."""
        callee = call.callee
        self._check_counts(call)
        arguments = dict(
            zip((parameter.name for parameter in callee.parameters), call.arguments, strict=True)
        )
        results = dict(zip((output.name for output in callee.outputs), call.outputs, strict=True))
        statements = self._copies(call, arguments, results)
        bound = self._bound_sizes(call, arguments)
        names, values = self._names(call, arguments, results)
        for size, value in bound.items():
            if isinstance(value, tree.NameUse):
                names[size] = value.name
            elif value is not None:
                values[size] = value
        self._check_open(call, bound)
        for statement in callee.statements:
            statement = _with_declared_sizes(statement, callee, bound, call.location)
            statements.append(rename_statement(_with_values(statement, values), names))
        return statements

    def _check_counts(self, call: DefinitionCall) -> None:
        callee = call.callee
        for what, wanted, given in (
            ("argument", callee.parameters, call.arguments),
            ("result", callee.outputs, call.outputs),
        ):
            if len(wanted) != len(given):
                names = ", ".join(one.name for one in wanted)
                raise SourceError(
                    call.location,
                    f"{callee.name}: expected {len(wanted)} {what}(s), {names}, found {len(given)}",
                )
        seen: set[str] = set()
        for name in call.outputs:
            if name.name in seen:
                raise SourceError(name.location, f"{name.name} is assigned twice by one call")
            seen.add(name.name)
        for parameter, argument in zip(callee.parameters, call.arguments, strict=True):
            self._check_argument(callee, parameter, argument)

    def _check_argument(
        self,
        callee: tree.TcDefinition,
        parameter: tree.TcParameter,
        argument: tree.NameUse | tree.NumberLiteral,
    ) -> None:
        here = f"{callee.name}: {parameter.name}"
        if isinstance(argument, tree.NumberLiteral):
            if parameter.sizes or parameter.name in {output.name for output in callee.outputs}:
                raise SourceError(argument.location, f"{here}: expected a tensor, found a number")
            scalar = SCALAR_TYPES[parameter.type]
            if isinstance(argument.value, float) and not scalar.is_floating:
                raise SourceError(
                    argument.location,
                    f"{here}: expected {parameter.type.value}, found {argument.text}",
                )
            if isinstance(argument.value, int):
                what = f"{here} = {argument.text}"
                check_fits(argument.value, what, scalar, argument.location)
            return
        if argument.name not in self.known_shapes.shapes:
            raise SourceError(
                argument.location,
                f"{here}: expected a parameter or a tensor that has been assigned, found "
                f"{argument.name}",
            )
        shape, kind = (
            self.known_shapes.shapes[argument.name],
            self.known_shapes.types.get(argument.name),
        )
        if len(shape) != len(parameter.sizes):
            raise SourceError(
                argument.location,
                f"{here}: expected {len(parameter.sizes)} dimension(s), found {argument.name}, "
                f"which has {len(shape)}",
            )
        if kind is not None and kind is not parameter.type:
            raise SourceError(
                argument.location,
                f"{here}: expected {parameter.type.value}, found {argument.name}, which is "
                f"{kind.value}",
            )

    def _copies(
        self,
        call: DefinitionCall,
        arguments: Mapping[str, tree.NameUse | tree.NumberLiteral],
        results: Mapping[str, tree.NameUse],
    ) -> list[tree.TcStatement]:
        """Return copies of arguments that the callee updates; refuse results that are in use."""
        found = []
        given = [use.name for use in arguments.values() if isinstance(use, tree.NameUse)]
        for output, result in results.items():
            updated = arguments.get(output)
            if isinstance(updated, tree.NameUse) and updated.name == result.name:
                if given.count(result.name) > 1:
                    raise SourceError(
                        result.location,
                        f"{result.name} is updated, and is another argument as well",
                    )
                continue
            if result.name in given or result.name in self.known_shapes.shapes:
                raise SourceError(
                    result.location,
                    f"{result.name} has a value already; expected another name for what "
                    f"{call.callee.name} returns",
                )
            if isinstance(updated, tree.NameUse):
                parameter = next(
                    parameter for parameter in call.callee.parameters if parameter.name == output
                )
                indices = tuple(
                    tree.NameUse(self._fresh(f"i{place}"), call.location)
                    for place in range(len(parameter.sizes))
                )
                value: tree.Expression = (
                    tree.ElementOrCall(updated.name, indices, call.location) if indices else updated
                )
                found.append(
                    tree.TcStatement(
                        result.name, indices, tree.AssignKind.SET, False, value, (), call.location
                    )
                )
        return found

    def _bound_sizes(
        self, call: DefinitionCall, arguments: Mapping[str, tree.NameUse | tree.NumberLiteral]
    ) -> dict[str, KnownSize]:
        """Return what the callee's sizes are here; None is not known."""
        callee = call.callee
        bound: dict[str, KnownSize] = {}
        places: dict[str, str] = {}
        for parameter in callee.parameters:
            argument = arguments[parameter.name]
            shape = (
                self.known_shapes.shapes[argument.name]
                if isinstance(argument, tree.NameUse)
                else ()
            )
            for place, size in enumerate(parameter.sizes):
                known_size = shape[place]
                name = argument.name if isinstance(argument, tree.NameUse) else ""
                here = f"dimension {place} of {name}"
                wanted: KnownSize = size
                because = "as declared"
                if isinstance(size, tree.NameUse):
                    if size.name not in bound:
                        bound[size.name], places[size.name] = known_size, here
                        continue
                    wanted, because = bound[size.name], f"as {places[size.name]} is"
                if wanted is None or known_size is None:
                    text = size.text if isinstance(size, tree.NumberLiteral) else size.name
                    unknown = here if known_size is None else because.removeprefix("as ")
                    raise SourceError(
                        call.location,
                        f"{callee.name}: {text}: the size of {unknown} is not known here",
                        _UNKNOWN_SIZE_HINT,
                    )
                if not is_same_size(wanted, known_size):
                    raise SourceError(
                        call.location,
                        f"{callee.name}: {here}: expected {size_text(wanted)}, {because}, found "
                        f"{size_text(known_size)}",
                    )
        return bound

    @staticmethod
    def _check_open(call: DefinitionCall, bound: Mapping[str, KnownSize]) -> None:
        """Refuse a size that is not known and stands in a statement."""
        for statement in call.callee.statements:
            for expression in _expressions_of(statement):
                for name in names_of_expression(expression):
                    if name.name in bound and bound[name.name] is None:
                        raise SourceError(
                            call.location,
                            f"{call.callee.name}: its size {name.name} is not known here",
                            _UNKNOWN_SIZE_HINT,
                        )

    def _names(
        self,
        call: DefinitionCall,
        arguments: Mapping[str, tree.NameUse | tree.NumberLiteral],
        results: Mapping[str, tree.NameUse],
    ) -> tuple[dict[str, str], dict[str, tree.Expression]]:
        """Return what the callee's names are here, and the values of those that are numbers."""
        callee = call.callee
        names: dict[str, str] = {}
        values: dict[str, tree.Expression] = {}
        types = {parameter.name: parameter.type for parameter in callee.parameters}
        needed = required_constants(callee)
        for name, argument in arguments.items():
            if isinstance(argument, tree.NumberLiteral):
                is_plain = name in needed or types[name] in _COMPUTED_AS_INT
                values[name] = (
                    argument
                    if is_plain
                    else tree.ConvertExpression(types[name], argument, argument.location)
                )
            else:
                names[name] = argument.name
        names |= {name: result.name for name, result in results.items()}
        for statement in callee.statements:
            if statement.tensor not in names:
                names[statement.tensor] = self._fresh(f"{callee.name}_{statement.tensor}")
        sizes = {
            s.name
            for parameter in callee.parameters
            for s in parameter.sizes
            if isinstance(s, tree.NameUse)
        }
        for statement in callee.statements:
            for name in _local_names(statement):
                if name in names or name in sizes or name in values:
                    continue
                names[name] = self._fresh(name) if name in self.used_names else name
            for part in _expressions_of(statement):
                for or_call in names_of_expression(part):
                    is_tensor = or_call.name in names or or_call.name in values
                    if (
                        isinstance(or_call, tree.ElementOrCall)
                        and not is_tensor
                        and or_call.name in self.used_names
                    ):
                        what = "function" if function_named(or_call.name) else "name"
                        raise SourceError(
                            call.location,
                            f"{or_call.name} is a tensor here, and a {what} in {callee.name}",
                        )
        return names, values

    def _fresh(self, name: str) -> str:
        """Return a name that is not taken, and take it."""
        number, result = 1, name
        while result in self.used_names or function_named(result) is not None:
            number += 1
            result = f"{name}_{number}"
        self.used_names.add(result)
        return result


def _with_declared_sizes(
    statement: tree.TcStatement,
    callee: tree.TcDefinition,
    bound: Mapping[str, KnownSize],
    place: SourceLocation,
) -> tree.TcStatement:
    """Return a statement that says itself what the callee declares about an output it assigns."""
    declared = next((output for output in callee.outputs if output.name == statement.tensor), None)
    if declared is None:
        return statement
    if declared.type is not None:
        value = tree.ConvertExpression(declared.type, statement.value, statement.location)
        statement = replace(statement, value=value)
    ranged = {where.name for where in statement.where if isinstance(where, tree.WhereRange)}
    more = []
    for index, size in zip(statement.subscripts, declared.sizes or (), strict=False):
        known = isinstance(size, tree.NumberLiteral) or bound.get(size.name) is not None
        if not isinstance(index, tree.NameUse):
            raise SourceError(
                place,
                f"{callee.name}: {declared.name} is declared with its sizes and assigned at "
                f"{expression_text(index)}, which a call cannot say",
                f"declare {declared.name} without sizes",
            )
        if known and index.name not in ranged:
            zero = tree.NumberLiteral(0, "0", index.location)
            more.append(tree.WhereRange(index.name, zero, size, index.location))
    return replace(statement, where=(*statement.where, *more))


def _with_values(
    statement: tree.TcStatement, values: Mapping[str, tree.Expression]
) -> tree.TcStatement:
    """Return a statement with numbers in the place of some names."""
    if not values:
        return statement

    def new(expression: tree.Expression) -> tree.Expression:
        return substitute_values(expression, values)

    where = tuple(
        replace(one, lower=new(one.lower), upper=new(one.upper))
        if isinstance(one, tree.WhereRange)
        else replace(one, value=new(one.value))
        if isinstance(one, tree.WhereValue)
        else replace(one, expression=new(one.expression))
        for one in statement.where
    )
    left = tuple(map(new, statement.subscripts))
    return replace(statement, subscripts=left, value=new(statement.value), where=where)


def _expressions_of(statement: tree.TcStatement) -> list[tree.Expression]:
    """Return every expression of a statement."""
    expressions = [*statement.subscripts, statement.value]
    for entry in statement.where:
        match entry:
            case tree.WhereRange(_, lower, upper):
                expressions += [lower, upper]
            case tree.WhereValue(_, value):
                expressions.append(value)
            case tree.WhereExists(expression):
                expressions.append(expression)
    return expressions


def _local_names(statement: tree.TcStatement) -> list[str]:
    """Return the names without subscripts: indices, values, sizes, scalars."""
    result = [index.name for index in statement.indices]
    result += [
        entry.name
        for entry in statement.where
        if isinstance(entry, tree.WhereRange | tree.WhereValue)
    ]
    for part in _expressions_of(statement):
        result += [use.name for use in names_of_expression(part) if isinstance(use, tree.NameUse)]
    return list(dict.fromkeys(result))
