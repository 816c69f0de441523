"""A statement whose ranges are known → one or two statements of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

import islpy as isl

from polygym.compiler.frontend.tc.affine import ALWAYS, Affine, Condition
from polygym.compiler.frontend.tc.draft import Draft, expected_sizes, output_named
from polygym.compiler.frontend.tc.environment import Environment
from polygym.compiler.frontend.tc.printer import left_text, statement_text, text_of
from polygym.compiler.frontend.tc.ranges import Scope
from polygym.compiler.frontend.tc.resolve import Meaning
from polygym.compiler.frontend.tc.subscripts import access_map, gathered, subscripts
from polygym.compiler.frontend.tc.syntax import Assign, Element, Name
from polygym.compiler.frontend.tc.targets import assigned, elements_of, is_plain
from polygym.compiler.frontend.tc.tensors import Role, Tensor
from polygym.compiler.frontend.tc.translate import combined, extreme, translate
from polygym.compiler.ir import expr as ir
from polygym.compiler.ir.scop import Statement as Lowered
from polygym.compiler.ir.types import ScalarType
from polygym.compiler.poly.isl_numbers import isl_text
from polygym.errors import Place


def defined_tensor(
    draft: Draft,
    meaning: Meaning,
    scope: Scope,
    ranges: Mapping[str, isl.Set],
    target: ScalarType,
) -> Tensor:
    """Return the tensor that is assigned; one that is new is as large as its subscripts run."""
    statement = meaning.statement
    name = statement.tensor
    if name in draft.tensors:
        return draft.tensors[name]
    expected = expected_sizes(draft, name)
    if expected is None:
        below = draft.sizes.map("{ [x'] -> [y'] : 0 <= y' <= x' }")
        expected = tuple(
            one.apply(below).coalesce() for one in _subscripts_of(meaning, scope, ranges)
        )
    role = Role.TEMPORARY if output_named(draft, name) is None else Role.OUTPUT
    made = Tensor(draft.names.take(name), target, expected, role)
    draft.tensors[name] = made
    return made


def _subscripts_of(
    meaning: Meaning, scope: Scope, ranges: Mapping[str, isl.Set]
) -> Iterator[isl.Set]:
    """Yield the values of each subscript on the left."""
    for part, value in zip(meaning.left, assigned(meaning, scope), strict=True):
        if isinstance(part, Name):
            yield ranges[part.name]
            continue
        indices = [name for name in scope.indices if name in value.names]
        text = f"{{ {scope.tuple_of(indices)} -> [{value.text(scope.isl_names)}] }}"
        yield scope.box(indices, ranges).apply(scope.sizes.map(text)).compute_divs()


def emit(
    draft: Draft,
    meaning: Meaning,
    scope: Scope,
    environment: Environment,
    ranges: Mapping[str, isl.Set],
    tensor: Tensor,
) -> None:
    """Add the one or two statements of the program."""
    statement = meaning.statement
    if statement.initialises:
        neutral = _neutral(statement.assign, tensor.type)
        begin = _beginning(meaning, scope, ranges, tensor)
        text = f"{left_text(statement.tensor, begin.loops)} = {_neutral_text(statement.assign)}"
        said = left_text(tensor.name, begin.loops)
        _add(draft, begin, lambda _name, _write: neutral, text, said, statement.place)
    loops = tuple(meaning.indices)
    domain = scope.box(loops, ranges)
    target = _Target(scope, loops, domain, tensor, assigned(meaning, scope))

    def body(name: str, write: ir.Access) -> ir.Expression:
        def access(element: Element, condition: Condition) -> ir.Access:
            values = subscripts(element, scope, environment)
            read = draft.tensors[element.name]
            return _access(target, name, read, values, condition, text_of(element))

        value = translate(meaning.value, tensor.type, replace(environment, access=access))
        return _combined(statement.assign, ir.Load(write, tensor.type), value)

    text = statement_text(replace(statement, initialises=False))
    said = left_text(tensor.name, map(text_of, meaning.left))
    _add(draft, target, body, text, said, statement.place)


@dataclass(frozen=True, slots=True)
class _Target:
    """The loops of a statement, and the element that it assigns: ``tensor`` at ``left``."""

    scope: Scope
    loops: tuple[str, ...]
    domain: isl.Set
    tensor: Tensor
    left: tuple[Affine, ...]


def _beginning(
    meaning: Meaning, scope: Scope, ranges: Mapping[str, isl.Set], tensor: Tensor
) -> _Target:
    """Return the loops over the elements that a reduction begins with."""
    taken = set(scope.isl_names) | set(scope.isl_names.values())
    loops: list[str] = []
    for dimension, part in enumerate(meaning.left):
        name = part.name if isinstance(part, Name) else f"e{dimension}"
        while not isinstance(part, Name) and name in taken:
            name += "_"
        loops.append(name)
    plain = is_plain(meaning)
    domain = scope.box(loops, ranges) if plain else elements_of(meaning, scope, ranges)
    of_loops = {name: scope.isl_names.get(name, name) for name in loops}
    own = replace(scope, isl_names={**scope.isl_names, **of_loops})
    return _Target(own, tuple(loops), domain, tensor, tuple(Affine(((n, 1),)) for n in loops))


def _combined(assign: Assign, before: ir.Expression, value: ir.Expression) -> ir.Expression:
    """Return what is assigned."""
    match assign:
        case Assign.SET:
            return value
        case Assign.ADD:
            return combined(ir.BinaryOperator.ADD, before, value)
        case Assign.MULTIPLY:
            return combined(ir.BinaryOperator.MULTIPLY, before, value)
        case Assign.MINIMUM:
            return extreme(ir.MathFunction.FMIN, before, value)
        case Assign.MAXIMUM:
            return extreme(ir.MathFunction.FMAX, before, value)
        case _:
            assert_never(assign)


def _add(
    draft: Draft,
    target: _Target,
    body: Callable[[str, ir.Access], ir.Expression],
    text: str,
    said: str,
    place: Place,
) -> None:
    """Add one statement; ``body`` makes what it assigns of its name and its write.

    ``said`` is the text of the element that is assigned.
    """
    scope, loops = target.scope, target.loops
    name = draft.names.take(f"S{len(draft.statements)}")
    domain = target.domain.intersect_params(draft.context).coalesce()
    domain = domain.gist_params(draft.context).coalesce().set_tuple_name(name)
    for position, index in enumerate(loops):
        domain = domain.set_dim_name(isl.dim_type.set, position, scope.isl_names[index])
    write = _access(target, name, target.tensor, target.left, ALWAYS, said)
    draft.statements.append(
        Lowered(
            name=name,
            iterators=tuple(scope.isl_names[index] for index in loops),
            domain=isl_text(domain),
            write=write,
            body=body(name, write),
            text=text,
            place=place,
        )
    )


def _access(
    target: _Target,
    name: str,
    tensor: Tensor,
    values: tuple[Affine | None, ...],
    condition: Condition,
    text: str,
) -> ir.Access:
    """Return an access of a statement."""
    instances = f"{name}{target.scope.tuple_of(target.loops)}"
    relation = access_map(target.scope, instances, tensor.name, values, tensor.valid, condition)
    return ir.Access(tensor.name, isl_text(relation), text, gathered(values))


def _neutral_text(assign: Assign) -> str:
    return {
        Assign.ADD: "0",
        Assign.MULTIPLY: "1",
        Assign.MINIMUM: "the largest value",
        Assign.MAXIMUM: "the smallest value",
    }[assign]


def _neutral(assign: Assign, scalar: ScalarType) -> ir.Expression:
    """Return what a reduction begins with."""
    match assign:
        case Assign.ADD | Assign.MULTIPLY:
            number = int(assign is Assign.MULTIPLY)
            if scalar.is_integer:
                return ir.IntegerLiteral(number, scalar)
            return ir.FloatLiteral(float(number), scalar)
        case Assign.MINIMUM:
            if scalar.is_integer:
                return ir.IntegerLiteral(scalar.highest, scalar)
            return ir.FloatLiteral(float("inf"), scalar)
        case Assign.MAXIMUM:
            if scalar.is_integer:
                return ir.IntegerLiteral(scalar.lowest, scalar)
            return ir.FloatLiteral(float("-inf"), scalar)
        case Assign.SET:
            raise AssertionError("an assignment begins with nothing")
        case _:
            assert_never(assign)
