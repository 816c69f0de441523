"""A statement whose ranges are known → one or two statements of the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from polygym.compiler.frontend.tc.syntax import Assign, Element
from polygym.compiler.frontend.tc.tensors import Role, Tensor
from polygym.compiler.frontend.tc.translate import combined, extreme, translate
from polygym.compiler.ir import expr as ir
from polygym.compiler.ir.scop import Statement as Lowered
from polygym.compiler.ir.types import ScalarType
from polygym.compiler.poly.isl_numbers import isl_text
from polygym.errors import Place


def defined_tensor(
    draft: Draft, meaning: Meaning, ranges: Mapping[str, isl.Set], target: ScalarType
) -> Tensor:
    """Return the tensor that is assigned; one that is new is as large as its indices run."""
    statement = meaning.statement
    name = statement.tensor
    if name in draft.tensors:
        return draft.tensors[name]
    expected = expected_sizes(draft, name)
    if expected is None:
        below = draft.sizes.map("{ [x'] -> [y'] : 0 <= y' <= x' }")
        expected = tuple(ranges[i.name].apply(below).coalesce() for i in statement.indices)
    role = Role.TEMPORARY if output_named(draft, name) is None else Role.OUTPUT
    made = Tensor(draft.names.take(name), target, expected, role)
    draft.tensors[name] = made
    return made


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
    left = tuple(index.name for index in statement.indices)
    if statement.initialises:
        neutral = _neutral(statement.assign, tensor.type)
        text = f"{left_text(statement.tensor, left)} = {_neutral_text(statement.assign)}"
        begin = _Target(scope, left, ranges, tensor, left)
        _add(draft, begin, lambda _name, _write: neutral, text, statement.place)
    target = _Target(scope, tuple(meaning.indices), ranges, tensor, left)

    def body(name: str, write: ir.Access) -> ir.Expression:
        def access(element: Element, condition: Condition) -> ir.Access:
            values = subscripts(element, scope, environment)
            read = draft.tensors[element.name]
            return _access(target, name, read, values, condition, text_of(element))

        value = translate(meaning.value, tensor.type, replace(environment, access=access))
        return _combined(statement.assign, ir.Load(write, tensor.type), value)

    text = statement_text(replace(statement, initialises=False))
    _add(draft, target, body, text, statement.place)


@dataclass(frozen=True, slots=True)
class _Target:
    """The loops of a statement, and the element that it assigns: ``tensor`` at ``left``."""

    scope: Scope
    loops: tuple[str, ...]
    ranges: Mapping[str, isl.Set]
    tensor: Tensor
    left: tuple[str, ...]


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
    place: Place,
) -> None:
    """Add one statement; ``body`` makes what it assigns of its name and its write."""
    scope, loops = target.scope, target.loops
    name = draft.names.take(f"S{len(draft.statements)}")
    domain = scope.box(loops, target.ranges).intersect_params(draft.context).coalesce()
    domain = domain.gist_params(draft.context).coalesce().set_tuple_name(name)
    for position, index in enumerate(loops):
        domain = domain.set_dim_name(isl.dim_type.set, position, scope.isl_names[index])
    values = tuple(Affine(((index, 1),)) for index in target.left)
    said = left_text(target.tensor.name, target.left)
    write = _access(target, name, target.tensor, values, ALWAYS, said)
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
