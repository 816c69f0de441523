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
from typing import TypeAlias

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.semantics.functions import function_named
from polygym.frontend.tc.semantics.known_shapes import (
    KnownShapes,
    KnownSize,
    is_same_size,
    size_text,
)
from polygym.frontend.tc.semantics.name_resolution import required_constants
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


Argument: TypeAlias = tree.NameUse | tree.NumberLiteral


@dataclass(frozen=True, slots=True)
class DefinitionCall:
    """``(C, D) = f(A, B)``, with the definition that is called."""

    outputs: tuple[tree.NameUse, ...]
    callee: tree.TcDefinition
    arguments: tuple[Argument, ...]
    location: SourceLocation

    @property
    def argument_of(self) -> dict[str, Argument]:
        """The arguments by the names of the callee's parameters."""
        names = (parameter.name for parameter in self.callee.parameters)
        return dict(zip(names, self.arguments, strict=True))

    @property
    def result_of(self) -> dict[str, tree.NameUse]:
        """What is assigned, by the names of the callee's outputs."""
        return dict(zip((out.name for out in self.callee.outputs), self.outputs, strict=True))


def inline_calls(
    parameters: Sequence[tree.TcParameter],
    outputs: Sequence[tree.TcOutput],
    body: Sequence[tree.TcStatement | DefinitionCall],
) -> tuple[tree.TcStatement, ...]:
    """Return the statements of a definition, those of what it calls among them.

    Raises:
        SourceError: a call does not fit what it calls.
    """
    shapes = KnownShapes.of(parameters, outputs)
    if not any(isinstance(part, DefinitionCall) for part in body):
        return tuple(part for part in body if isinstance(part, tree.TcStatement))
    names: set[str] = set()
    declared: list[tree.Declaration] = [*parameters, *outputs]
    for tensor in declared:
        sizes = [size.name for size in tensor.sizes or () if isinstance(size, tree.NameUse)]
        names |= {tensor.name, *sizes}
    for part in body:
        if isinstance(part, DefinitionCall):
            names |= {name.name for name in part.outputs}
        else:
            names |= {part.tensor, *part.local_names}
    return _CallInliner(names, shapes).statements(body)


@dataclass(slots=True)
class _CallInliner:
    """A definition that calls others, as far as it has been read; ``used_names`` are its names."""

    used_names: set[str]
    known_shapes: KnownShapes

    def statements(
        self, body: Sequence[tree.TcStatement | DefinitionCall]
    ) -> tuple[tree.TcStatement, ...]:
        """Return the statements, one call after the other put in its place."""
        statements: list[tree.TcStatement] = []
        for part in body:
            made = self._called(part) if isinstance(part, DefinitionCall) else [part]
            statements += made
            if isinstance(part, DefinitionCall) and len(statements) > _MOST_STATEMENTS:
                raise SourceError(
                    part.location,
                    f"{part.callee.name}: with the statements of what is called in its place there "
                    f"are more than {_MOST_STATEMENTS:,} here",
                )
            for statement in made:
                self.known_shapes.add_statement(statement)
        return tuple(statements)

    def _called(self, call: DefinitionCall) -> list[tree.TcStatement]:
        """Return the statements of a call."""
        self._check_counts(call)
        statements = self._copies(call)
        bound = self._bound_sizes(call)
        names, values = self._names(call)
        for size, value in bound.items():
            if isinstance(value, tree.NameUse):
                names[size] = value.name
            elif value is not None:
                values[size] = value
        self._check_open(call, bound)
        for statement in call.callee.statements:
            statement = _with_declared_sizes(statement, call, bound)
            statement = statement.with_expressions(lambda whole: substitute_values(whole, values))
            statements.append(rename_statement(statement, names))
        return statements

    def _check_counts(self, call: DefinitionCall) -> None:
        callee = call.callee
        for what, wanted, given in (
            ("argument", callee.parameters, call.arguments),
            ("result", callee.outputs, call.outputs),
        ):
            if len(wanted) != len(given):
                names = ", ".join(declaration.name for declaration in wanted)
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
        self, callee: tree.TcDefinition, parameter: tree.TcParameter, argument: Argument
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
        shape = self.known_shapes.shapes[argument.name]
        kind = self.known_shapes.types.get(argument.name)
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

    def _copies(self, call: DefinitionCall) -> list[tree.TcStatement]:
        """Return copies of arguments that the callee updates; refuse results that are in use."""
        copies = []
        arguments = call.argument_of
        given = [use.name for use in arguments.values() if isinstance(use, tree.NameUse)]
        for output, result in call.result_of.items():
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
                rank = next(len(p.sizes) for p in call.callee.parameters if p.name == output)
                names = [self._fresh(f"i{place}") for place in range(rank)]
                indices = tuple(tree.NameUse(name, call.location) for name in names)
                value: tree.Expression = updated
                if indices:
                    value = tree.ElementOrCall(updated.name, indices, call.location)
                copied = (result.name, indices, tree.AssignKind.SET, False, value, ())
                copies.append(tree.TcStatement(*copied, call.location))
        return copies

    def _bound_sizes(self, call: DefinitionCall) -> dict[str, KnownSize]:
        """Return what the callee's sizes are here; None is not known."""
        callee = call.callee
        bound: dict[str, KnownSize] = {}
        places: dict[str, str] = {}
        for parameter, argument in zip(callee.parameters, call.arguments, strict=True):
            if isinstance(argument, tree.NumberLiteral):
                continue  # which has no sizes
            shape = self.known_shapes.shapes[argument.name]
            for place, (size, known) in enumerate(zip(parameter.sizes, shape, strict=True)):
                here = f"dimension {place} of {argument.name}"
                wanted: KnownSize = size
                because = "as declared"
                if isinstance(size, tree.NameUse):
                    if size.name not in bound:
                        bound[size.name], places[size.name] = known, here
                        continue
                    wanted, because = bound[size.name], f"as {places[size.name]} is"
                if wanted is None or known is None:
                    unknown = here if known is None else because.removeprefix("as ")
                    raise SourceError(
                        call.location,
                        f"{callee.name}: {size_text(size)}: the size of {unknown} is not known "
                        "here",
                        _UNKNOWN_SIZE_HINT,
                    )
                if not is_same_size(wanted, known):
                    raise SourceError(
                        call.location,
                        f"{callee.name}: {here}: expected {size_text(wanted)}, {because}, found "
                        f"{size_text(known)}",
                    )
        return bound

    @staticmethod
    def _check_open(call: DefinitionCall, bound: Mapping[str, KnownSize]) -> None:
        """Refuse a size that is not known and stands in a statement."""
        unknown = {name for name, size in bound.items() if size is None}
        for statement in call.callee.statements:
            for part in tree.parts_of(*statement.expressions):
                if isinstance(part, tree.NameUse | tree.ElementOrCall) and part.name in unknown:
                    raise SourceError(
                        call.location,
                        f"{call.callee.name}: its size {part.name} is not known here",
                        _UNKNOWN_SIZE_HINT,
                    )

    def _names(self, call: DefinitionCall) -> tuple[dict[str, str], dict[str, tree.Expression]]:
        """Return what the callee's names are here, and the values of those that are numbers."""
        callee = call.callee
        names: dict[str, str] = {}
        values: dict[str, tree.Expression] = {}
        needed = required_constants(callee)
        for parameter, argument in zip(callee.parameters, call.arguments, strict=True):
            name, kind = parameter.name, parameter.type
            if isinstance(argument, tree.NameUse):
                names[name] = argument.name
            elif name in needed or kind in _COMPUTED_AS_INT:
                values[name] = argument
            else:
                values[name] = tree.ConvertExpression(kind, argument, argument.location)
        names |= {name: result.name for name, result in call.result_of.items()}
        for statement in callee.statements:
            if statement.tensor not in names:
                names[statement.tensor] = self._fresh(f"{callee.name}_{statement.tensor}")
        sizes = {
            size.name
            for parameter in callee.parameters
            for size in parameter.sizes
            if isinstance(size, tree.NameUse)
        }
        for statement in callee.statements:
            for name in statement.local_names:
                if name not in names and name not in sizes and name not in values:
                    names[name] = self._fresh(name) if name in self.used_names else name
            for part in tree.parts_of(*statement.expressions):
                if not isinstance(part, tree.ElementOrCall) or part.name not in self.used_names:
                    continue
                if part.name not in names and part.name not in values:
                    what = "function" if function_named(part.name) else "name"
                    raise SourceError(
                        call.location,
                        f"{part.name} is a tensor here, and a {what} in {callee.name}",
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
    statement: tree.TcStatement, call: DefinitionCall, bound: Mapping[str, KnownSize]
) -> tree.TcStatement:
    """Return a statement that says itself what the callee declares about an output it assigns."""
    declared = next(
        (output for output in call.callee.outputs if output.name == statement.tensor), None
    )
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
                call.location,
                f"{call.callee.name}: {declared.name} is declared with its sizes and assigned at "
                f"{expression_text(index)}, which a call cannot say",
                f"declare {declared.name} without sizes",
            )
        if known and index.name not in ranged:
            zero = tree.NumberLiteral(0, "0", index.location)
            more.append(tree.WhereRange(index.name, zero, size, index.location))
    return replace(statement, where=(*statement.where, *more))
