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
(:mod:`polygym.compiler.frontend.tc.shapes`). Where one that counts is open, the call is refused:
one that stands at two places, or in a statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polygym.compiler.frontend.tc.functions import function_named
from polygym.compiler.frontend.tc.printer import text_of
from polygym.compiler.frontend.tc.renaming import renamed
from polygym.compiler.frontend.tc.resolve import names_in, needed_values
from polygym.compiler.frontend.tc.shapes import Known, Size, said, same
from polygym.compiler.frontend.tc.syntax import (
    Assign,
    Convert,
    Definition,
    Element,
    Exists,
    Expression,
    In,
    Let,
    Name,
    Number,
    Output,
    Parameter,
    Scalar,
    Statement,
)
from polygym.compiler.frontend.tc.types import SCALARS, check_fits
from polygym.compiler.frontend.tc.values import substituted
from polygym.errors import Place, SourceError

# Definitions that call each other twice double them: so many are lowered in about a second.
_MOST_STATEMENTS = 500

# Of other types a number is converted: with ``float s``, s / 2 is 1.5 where s is 3.
_COMPUTED_AS_INT = (Scalar.INT32, Scalar.INT16, Scalar.INT8, Scalar.UINT16, Scalar.UINT8)


@dataclass(frozen=True, slots=True)
class Call:
    """``(C, D) = f(A, B)``, with the definition that is called."""

    outputs: tuple[Name, ...]
    callee: Definition
    arguments: tuple[Name | Number, ...]
    place: Place


def inlined(
    parameters: Sequence[Parameter], outputs: Sequence[Output], body: Sequence[Statement | Call]
) -> tuple[Statement, ...]:
    """Return the statements of a definition, those of what it calls among them.

    Raises:
        SourceError: a call does not fit what it calls.
    """
    if not any(isinstance(one, Call) for one in body):
        return tuple(one for one in body if isinstance(one, Statement))
    return _Caller.of(parameters, outputs, body).statements(body)


@dataclass(slots=True)
class _Caller:
    """A definition that calls others, as far as it has been read; ``taken`` are its names."""

    taken: set[str]
    known: Known

    @staticmethod
    def of(
        parameters: Sequence[Parameter], outputs: Sequence[Output], body: Sequence[Statement | Call]
    ) -> _Caller:
        names: set[str] = set()
        for name, sizes in [
            *((one.name, one.sizes) for one in parameters),
            *((one.name, one.sizes or ()) for one in outputs),
        ]:
            names |= {name, *(size.name for size in sizes if isinstance(size, Name))}
        for one in body:
            if isinstance(one, Call):
                names |= {name.name for name in one.outputs}
            else:
                names |= {one.tensor, *_local_names(one)}
        return _Caller(names, Known.of(parameters, outputs))

    def statements(self, body: Sequence[Statement | Call]) -> tuple[Statement, ...]:
        """Return the statements, one call after the other put in its place."""
        found: list[Statement] = []
        for one in body:
            made = self._called(one) if isinstance(one, Call) else [one]
            if isinstance(one, Call) and len(found) + len(made) > _MOST_STATEMENTS:
                raise SourceError(
                    one.place,
                    f"{one.callee.name}: with the statements of what is called in its place there "
                    f"are more than {_MOST_STATEMENTS:,} here",
                )
            for statement in made:
                found.append(statement)
                self.known.see(statement)
        return tuple(found)

    def _called(self, call: Call) -> list[Statement]:
        """Return the statements of a call."""
        callee = call.callee
        self._check_counts(call)
        arguments = dict(zip((one.name for one in callee.parameters), call.arguments, strict=True))
        results = dict(zip((one.name for one in callee.outputs), call.outputs, strict=True))
        found = self._copies(call, arguments, results)
        bound = self._bound_sizes(call, arguments)
        names, values = self._names(call, arguments, results)
        for size, value in bound.items():
            if isinstance(value, Name):
                names[size] = value.name
            elif value is not None:
                values[size] = value
        self._check_open(call, bound)
        for statement in callee.statements:
            statement = _declared_again(statement, callee, bound, call.place)
            found.append(renamed(_with_values(statement, values), names))
        return found

    def _check_counts(self, call: Call) -> None:
        callee = call.callee
        for what, wanted, given in (
            ("argument", callee.parameters, call.arguments),
            ("result", callee.outputs, call.outputs),
        ):
            if len(wanted) != len(given):
                names = ", ".join(one.name for one in wanted)
                raise SourceError(
                    call.place,
                    f"{callee.name}: expected {len(wanted)} {what}(s), {names}, found {len(given)}",
                )
        seen: set[str] = set()
        for name in call.outputs:
            if name.name in seen:
                raise SourceError(name.place, f"{name.name} is assigned twice by one call")
            seen.add(name.name)
        for parameter, argument in zip(callee.parameters, call.arguments, strict=True):
            self._check_argument(callee, parameter, argument)

    def _check_argument(
        self, callee: Definition, parameter: Parameter, argument: Name | Number
    ) -> None:
        here = f"{callee.name}: {parameter.name}"
        if isinstance(argument, Number):
            if parameter.sizes or parameter.name in {one.name for one in callee.outputs}:
                raise SourceError(argument.place, f"{here}: expected a tensor, found a number")
            scalar = SCALARS[parameter.type]
            if isinstance(argument.value, float) and not scalar.is_floating:
                raise SourceError(
                    argument.place,
                    f"{here}: expected {parameter.type.value}, found {argument.text}",
                )
            if isinstance(argument.value, int):
                what = f"{here} = {argument.text}"
                check_fits(argument.value, what, scalar, argument.place)
            return
        if argument.name not in self.known.shapes:
            raise SourceError(
                argument.place,
                f"{here}: expected a parameter or a tensor that has been assigned, found "
                f"{argument.name}",
            )
        shape, kind = self.known.shapes[argument.name], self.known.types.get(argument.name)
        if len(shape) != len(parameter.sizes):
            raise SourceError(
                argument.place,
                f"{here}: expected {len(parameter.sizes)} dimension(s), found {argument.name}, "
                f"which has {len(shape)}",
            )
        if kind is not None and kind is not parameter.type:
            raise SourceError(
                argument.place,
                f"{here}: expected {parameter.type.value}, found {argument.name}, which is "
                f"{kind.value}",
            )

    def _copies(
        self, call: Call, arguments: Mapping[str, Name | Number], results: Mapping[str, Name]
    ) -> list[Statement]:
        """Return copies of arguments that the callee updates; refuse results that are in use."""
        found = []
        given = [one.name for one in arguments.values() if isinstance(one, Name)]
        for output, result in results.items():
            updated = arguments.get(output)
            if isinstance(updated, Name) and updated.name == result.name:
                if given.count(result.name) > 1:
                    raise SourceError(
                        result.place, f"{result.name} is updated, and is another argument as well"
                    )
                continue
            if result.name in given or result.name in self.known.shapes:
                raise SourceError(
                    result.place,
                    f"{result.name} has a value already; expected another name for what "
                    f"{call.callee.name} returns",
                )
            if isinstance(updated, Name):
                parameter = next(one for one in call.callee.parameters if one.name == output)
                indices = tuple(
                    Name(self._fresh(f"i{place}"), call.place)
                    for place in range(len(parameter.sizes))
                )
                value: Expression = (
                    Element(updated.name, indices, call.place) if indices else updated
                )
                found.append(
                    Statement(result.name, indices, Assign.SET, False, value, (), call.place)
                )
        return found

    def _bound_sizes(self, call: Call, arguments: Mapping[str, Name | Number]) -> dict[str, Size]:
        """Return what the callee's sizes are here; None is not known."""
        callee = call.callee
        bound: dict[str, Size] = {}
        places: dict[str, str] = {}
        for parameter in callee.parameters:
            argument = arguments[parameter.name]
            shape = self.known.shapes[argument.name] if isinstance(argument, Name) else ()
            for place, size in enumerate(parameter.sizes):
                found = shape[place]
                name = argument.name if isinstance(argument, Name) else ""
                here = f"dimension {place} of {name}"
                wanted: Size = size
                because = "as declared"
                if isinstance(size, Name):
                    if size.name not in bound:
                        bound[size.name], places[size.name] = found, here
                        continue
                    wanted, because = bound[size.name], f"as {places[size.name]} is"
                if wanted is None or found is None:
                    raise SourceError(
                        call.place,
                        f"{callee.name}: {size.text if isinstance(size, Number) else size.name}: "
                        f"the size of {here if found is None else because.removeprefix('as ')} is "
                        "not known here",
                        "only parameters, declared outputs and what is indexed like them have "
                        "sizes by name",
                    )
                if not same(wanted, found):
                    raise SourceError(
                        call.place,
                        f"{callee.name}: {here}: expected {said(wanted)}, {because}, found "
                        f"{said(found)}",
                    )
        return bound

    @staticmethod
    def _check_open(call: Call, bound: Mapping[str, Size]) -> None:
        """Refuse a size that is not known and stands in a statement."""
        for statement in call.callee.statements:
            for one in _parts(statement):
                for name in names_in(one):
                    if name.name in bound and bound[name.name] is None:
                        raise SourceError(
                            call.place,
                            f"{call.callee.name}: its size {name.name} is not known here",
                            "only parameters, declared outputs and what is indexed like them have "
                            "sizes by name",
                        )

    def _names(
        self, call: Call, arguments: Mapping[str, Name | Number], results: Mapping[str, Name]
    ) -> tuple[dict[str, str], dict[str, Expression]]:
        """Return what the callee's names are here, and the values of those that are numbers."""
        callee = call.callee
        names: dict[str, str] = {}
        values: dict[str, Expression] = {}
        types = {one.name: one.type for one in callee.parameters}
        needed = needed_values(callee)
        for name, argument in arguments.items():
            if isinstance(argument, Number):
                is_plain = name in needed or types[name] in _COMPUTED_AS_INT
                values[name] = (
                    argument if is_plain else Convert(types[name], argument, argument.place)
                )
            else:
                names[name] = argument.name
        names |= {name: result.name for name, result in results.items()}
        for statement in callee.statements:
            if statement.tensor not in names:
                names[statement.tensor] = self._fresh(f"{callee.name}_{statement.tensor}")
        sizes = {s.name for one in callee.parameters for s in one.sizes if isinstance(s, Name)}
        for statement in callee.statements:
            for name in _local_names(statement):
                if name in names or name in sizes or name in values:
                    continue
                names[name] = self._fresh(name) if name in self.taken else name
            for part in _parts(statement):
                for one in names_in(part):
                    is_tensor = one.name in names or one.name in values
                    if isinstance(one, Element) and not is_tensor and one.name in self.taken:
                        what = "function" if function_named(one.name) else "name"
                        raise SourceError(
                            call.place,
                            f"{one.name} is a tensor here, and a {what} in {callee.name}",
                        )
        return names, values

    def _fresh(self, name: str) -> str:
        """Return a name that is not taken, and take it."""
        number, found = 1, name
        while found in self.taken or function_named(found) is not None:
            number += 1
            found = f"{name}_{number}"
        self.taken.add(found)
        return found


def _declared_again(
    statement: Statement, callee: Definition, bound: Mapping[str, Size], place: Place
) -> Statement:
    """Return a statement that says itself what the callee declares about an output it assigns."""
    declared = next((one for one in callee.outputs if one.name == statement.tensor), None)
    if declared is None:
        return statement
    if declared.type is not None:
        value = Convert(declared.type, statement.value, statement.place)
        statement = replace(statement, value=value)
    ranged = {one.name for one in statement.where if isinstance(one, In)}
    more = []
    for index, size in zip(statement.left, declared.sizes or (), strict=False):
        known = isinstance(size, Number) or bound.get(size.name) is not None
        if not isinstance(index, Name):
            raise SourceError(
                place,
                f"{callee.name}: {declared.name} is declared with its sizes and assigned at "
                f"{text_of(index)}, which a call cannot say",
                f"declare {declared.name} without sizes",
            )
        if known and index.name not in ranged:
            zero = Number(0, "0", index.place)
            more.append(In(index.name, zero, size, index.place))
    return replace(statement, where=(*statement.where, *more))


def _with_values(statement: Statement, values: Mapping[str, Expression]) -> Statement:
    """Return a statement with numbers in the place of some names."""
    if not values:
        return statement

    def new(expression: Expression) -> Expression:
        return substituted(expression, values)

    where = tuple(
        replace(one, lower=new(one.lower), upper=new(one.upper))
        if isinstance(one, In)
        else replace(one, value=new(one.value))
        if isinstance(one, Let)
        else replace(one, expression=new(one.expression))
        for one in statement.where
    )
    left = tuple(map(new, statement.left))
    return replace(statement, left=left, value=new(statement.value), where=where)


def _parts(statement: Statement) -> list[Expression]:
    """Return every expression of a statement."""
    found = [*statement.left, statement.value]
    for entry in statement.where:
        match entry:
            case In(_, lower, upper):
                found += [lower, upper]
            case Let(_, value):
                found.append(value)
            case Exists(expression):
                found.append(expression)
    return found


def _local_names(statement: Statement) -> list[str]:
    """Return the names without subscripts: indices, values, sizes, scalars."""
    found = [index.name for index in statement.indices]
    found += [entry.name for entry in statement.where if isinstance(entry, In | Let)]
    for part in _parts(statement):
        found += [one.name for one in names_in(part) if isinstance(one, Name)]
    return list(dict.fromkeys(found))
