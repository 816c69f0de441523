"""A statement whose ranges are known → one or two statements of the program."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

import islpy as isl

from polygym.errors import SourceLocation
from polygym.frontend.tc.inference.assigned_elements import (
    access_map,
    affine_subscripts,
    assigned_subscripts,
    begun_elements,
    gathered_dimensions,
    instances,
)
from polygym.frontend.tc.inference.lowering_state import (
    LoweringState,
    StatementContext,
    declared_output,
    expected_sizes,
)
from polygym.frontend.tc.inference.ranges import IndexScope
from polygym.frontend.tc.lowering import expressions
from polygym.frontend.tc.semantics.environment import (
    TRUE_CONDITION,
    AffineExpression,
    IslCondition,
    TensorInfo,
    TensorRole,
)
from polygym.frontend.tc.semantics.name_resolution import ResolvedStatement
from polygym.frontend.tc.syntax.printer import expression_text, statement_text, target_text
from polygym.frontend.tc.syntax.tree import AssignKind, ElementOrCall, NameUse
from polygym.ir import expressions as ir
from polygym.ir.scop import Statement as Lowered
from polygym.ir.types import ScalarType
from polygym.poly.isl_values import isl_text


def new_tensor(
    here: StatementContext, ranges: Mapping[str, isl.Set], target: ScalarType
) -> TensorInfo:
    """Return the tensor that is assigned; one that is new is as large as its subscripts run."""
    draft, meaning, scope = here.draft, here.meaning, here.scope
    statement = meaning.statement
    name = statement.tensor
    if name in draft.tensors:
        return draft.tensors[name]
    expected = expected_sizes(draft, name)
    if expected is None:
        below = draft.sizes.map("{ [x'] -> [y'] : 0 <= y' <= x' }")
        expected = tuple(
            subscript.apply(below).coalesce()
            for subscript in _subscripts_of(meaning, scope, ranges)
        )
    role = TensorRole.TEMPORARY if declared_output(draft, name) is None else TensorRole.OUTPUT
    made = TensorInfo(draft.identifiers.take(name), target, expected, role)
    draft.tensors[name] = made
    return made


def _subscripts_of(
    meaning: ResolvedStatement, scope: IndexScope, ranges: Mapping[str, isl.Set]
) -> Iterator[isl.Set]:
    """Yield the values of each subscript on the left."""
    for part, value in zip(meaning.subscripts, assigned_subscripts(meaning, scope), strict=True):
        if isinstance(part, NameUse):
            yield ranges[part.name]
            continue
        assert value is not None  # the size of a new tensor is known
        indices = [name for name in scope.indices if name in value.names]
        text = f"{{ {scope.tuple_of(indices)} -> [{value.text(scope.isl_names)}] }}"
        yield scope.box(indices, ranges).apply(scope.sizes.map(text)).compute_divs()


def emit_statements(
    here: StatementContext, ranges: Mapping[str, isl.Set], tensor: TensorInfo
) -> None:
    """Add the one or two statements of the program."""
    draft, meaning, scope, environment = here.draft, here.meaning, here.scope, here.environment
    statement = meaning.statement
    if statement.initializes:
        neutral = _identity(statement.assign, tensor.type)
        begin = _reduction_init(meaning, scope, ranges, tensor, environment.condition)
        text = f"{target_text(statement.tensor, begin.loops)} = {_identity_text(statement.assign)}"
        said = target_text(tensor.name, begin.loops)
        _add_statement(draft, begin, lambda _name, _write: neutral, text, said, statement.location)
    loops = tuple(meaning.indices)
    domain = instances(scope, loops, ranges, environment.condition)
    target = _AssignedElement(scope, loops, domain, tensor, assigned_subscripts(meaning, scope))

    def body(name: str, write: ir.Access) -> ir.Expression:
        def access(element: ElementOrCall, condition: IslCondition) -> ir.Access:
            values = affine_subscripts(element, scope, environment)
            read = draft.tensors[element.name]
            return _access(target, name, read, values, condition, expression_text(element))

        there = replace(environment, access=access)
        value = expressions.translate_expression(meaning.value, tensor.type, there)
        conditions = here.computed_conditions
        if not conditions and not write.gathered:
            return _reduced(statement.assign, ir.Load(write, tensor.type), value)
        computed = expressions.translate_subscripts(meaning.subscripts, write, there)
        before: ir.Expression = ir.Load(write, tensor.type)
        if write.gathered:
            before = ir.Gather(write, computed, tensor.type)
        asked = expressions.translate_conditions(conditions, there)
        return ir.Update(write, asked, computed, _reduced(statement.assign, before, value))

    text = statement_text(replace(statement, initializes=False))
    said = target_text(tensor.name, map(expression_text, meaning.subscripts))
    _add_statement(draft, target, body, text, said, statement.location)


@dataclass(frozen=True, slots=True)
class _AssignedElement:
    """The loops of a statement, and the element that it assigns: ``tensor`` at ``subscripts``."""

    scope: IndexScope
    loops: tuple[str, ...]
    domain: isl.Set
    tensor: TensorInfo
    left: tuple[AffineExpression | None, ...]


def _reduction_init(
    meaning: ResolvedStatement,
    scope: IndexScope,
    ranges: Mapping[str, isl.Set],
    tensor: TensorInfo,
    condition: IslCondition,
) -> _AssignedElement:
    """Return the loops over the elements that a reduction begins with."""
    taken = set(scope.isl_names) | set(scope.isl_names.values())
    loops: list[str] = []
    for dimension, part in enumerate(meaning.subscripts):
        is_new = isinstance(part, NameUse) and part.name not in loops
        name = part.name if isinstance(part, NameUse) and is_new else f"e{dimension}"
        while not is_new and name in taken:
            name += "_"
        loops.append(name)
    domain = begun_elements(meaning, scope, ranges, tensor.valid, condition)
    of_loops = {name: scope.isl_names.get(name, name) for name in loops}
    own = replace(scope, isl_names={**scope.isl_names, **of_loops})
    return _AssignedElement(
        own, tuple(loops), domain, tensor, tuple(AffineExpression(((n, 1),)) for n in loops)
    )


def _reduced(assign: AssignKind, before: ir.Expression, value: ir.Expression) -> ir.Expression:
    """Return what is assigned."""
    match assign:
        case AssignKind.SET:
            return value
        case AssignKind.ADD | AssignKind.MULTIPLY:
            return expressions.sum_or_product(ir.BinaryOperator(assign.value[0]), before, value)
        case AssignKind.MINIMUM | AssignKind.MAXIMUM:
            return expressions.min_or_max(ir.MathFunction[assign.name], before, value)
        case _:
            assert_never(assign)


def _add_statement(
    draft: LoweringState,
    target: _AssignedElement,
    body: Callable[[str, ir.Access], ir.Expression],
    text: str,
    said: str,
    place: SourceLocation,
) -> None:
    """Add one statement; ``body`` makes what it assigns of its name and its write.

    ``said`` is the text of the element that is assigned.
    """
    scope, loops = target.scope, target.loops
    name = draft.identifiers.take(f"S{len(draft.statements)}")
    domain = target.domain.intersect_params(draft.context).coalesce()
    domain = domain.gist_params(draft.context).coalesce().set_tuple_name(name)
    for position, index in enumerate(loops):
        domain = domain.set_dim_name(isl.dim_type.set, position, scope.isl_names[index])
    write = _access(target, name, target.tensor, target.left, TRUE_CONDITION, said)
    draft.statements.append(
        Lowered(
            name=name,
            iterators=tuple(scope.isl_names[index] for index in loops),
            domain=isl_text(domain),
            write=write,
            body=body(name, write),
            text=text,
            location=place,
        )
    )


def _access(
    target: _AssignedElement,
    name: str,
    tensor: TensorInfo,
    values: tuple[AffineExpression | None, ...],
    condition: IslCondition,
    text: str,
) -> ir.Access:
    """Return an access of a statement."""
    instances = f"{name}{target.scope.tuple_of(target.loops)}"
    relation = access_map(target.scope, instances, tensor.name, values, tensor.valid, condition)
    return ir.Access(tensor.name, isl_text(relation), text, gathered_dimensions(values))


def _identity_text(assign: AssignKind) -> str:
    texts = {"+=": "0", "*=": "1", "min=": "the largest value", "max=": "the smallest value"}
    return texts[assign.value]


def _identity(assign: AssignKind, scalar: ScalarType) -> ir.Expression:
    """Return what a reduction begins with: the neutral element."""
    integer, real = {
        AssignKind.ADD: (0, 0.0),
        AssignKind.MULTIPLY: (1, 1.0),
        AssignKind.MINIMUM: (scalar.is_integer and scalar.highest, math.inf),
        AssignKind.MAXIMUM: (scalar.is_integer and scalar.lowest, -math.inf),
    }[assign]
    return (
        ir.IntegerLiteral(integer, scalar) if scalar.is_integer else ir.FloatLiteral(real, scalar)
    )
