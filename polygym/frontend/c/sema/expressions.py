"""C expressions to the intermediate representation: what a statement computes.

Types follow C: every implicit conversion becomes a Cast
(:mod:`polygym.frontend.c.sema.arithmetic`). An operand of ``?:``, ``&&`` or ``||`` that is
reached only under an affine condition carries that condition in the domain of its accesses, so ``i
> 0 ? A[i - 1] : 0`` does not read ``A[-1]``.

A load is written with a mark, ``#3``, in place of its relation: the number of its
:class:`~polygym.frontend.c.sema.accesses.SourceAccess`. The texts are put in at the end, when it is
known which names are parameters.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pycparser import c_ast

from polygym.errors import LimitError
from polygym.frontend.c.sema.accesses import SourceAccess, read_access
from polygym.frontend.c.sema.affine import AffineReader
from polygym.frontend.c.sema.affine_expressions import affine_expression
from polygym.frontend.c.sema.arithmetic import (
    INTEGER_ONLY,
    binary_expression,
    comparison_expression,
    conditional,
    convert_to_type,
    folded_constant,
    truth_value,
    zero_of_type,
)
from polygym.frontend.c.sema.bindings import (
    AliasBinding,
    Bindings,
    EnumeratorBinding,
    ExpressionEnvironment,
    KnownValue,
    LoopIterator,
    VariableBinding,
)
from polygym.frontend.c.sema.functions import (
    ExpressionInliner,
    PrototypeReader,
    argument_count_message,
)
from polygym.frontend.c.sema.overloads import overloaded_name
from polygym.frontend.c.source.literals import builtin_literal, parse_literal
from polygym.frontend.c.source.syntax import operands_of
from polygym.ir import expressions as ir
from polygym.ir.types import ScalarType

_MAX_ACCESSES = 50_000

_ARITHMETIC = {operator.value: operator for operator in ir.BinaryOperator}
_COMPARISONS = {operator.value: operator for operator in ir.ComparisonOperator}
_MATH = {
    spelling: (function, scalar)
    for function in ir.MathFunction
    if function not in (ir.MathFunction.ABS, ir.MathFunction.EXPONENTIAL)
    for scalar in (ScalarType.DOUBLE, ScalarType.FLOAT)
    for spelling in (function.c_name(scalar),)
} | {
    "abs": (ir.MathFunction.ABS, ScalarType.INT),
    "labs": (ir.MathFunction.ABS, ScalarType.LONG),
    "llabs": (ir.MathFunction.ABS, ScalarType.LONG),
}
_MATH |= {f"__builtin_{name}": known for name, known in _MATH.items()}


def _compared_with(
    function: ir.MathFunction, operator: ir.ComparisonOperator, *values: float
) -> Callable[[ir.Expression], ir.Expression]:
    """Return what compares a function of a value, and of a constant before it, with a constant."""

    def compared(value: ir.Expression) -> ir.Expression:
        """Compare it."""
        *first, last = (ir.FloatLiteral(number, value.type) for number in values)
        return ir.Comparison(operator, ir.Call(function, (*first, value), value.type), last)

    return compared


# math.h's macros for any floating type, which say whether a value is of a kind.
_FLOAT_CLASSIFICATION: dict[str, Callable[[ir.Expression], ir.Expression]] = {
    "isnan": lambda value: ir.Comparison(ir.ComparisonOperator.NOT_EQUAL, value, value),
    "isinf": _compared_with(ir.MathFunction.FABS, ir.ComparisonOperator.EQUAL, math.inf),
    "isfinite": _compared_with(ir.MathFunction.FABS, ir.ComparisonOperator.LESS, math.inf),
    "signbit": _compared_with(ir.MathFunction.COPYSIGN, ir.ComparisonOperator.LESS, 1.0, 0.0),
}
_FLOAT_CLASSIFICATION |= {f"__builtin_{name}": made for name, made in _FLOAT_CLASSIFICATION.items()}


@dataclass(frozen=True, slots=True, eq=False)
class RecordedAccess:
    """An access that is recorded: with its mark, its type and what its subscripts compute."""

    access: ir.Access
    type: ScalarType
    subscripts: tuple[ir.Expression, ...]
    source_access: SourceAccess

    @property
    def value(self) -> ir.Expression:
        """The value of the element."""
        if not self.subscripts:
            return ir.Load(self.access, self.type)
        return ir.Gather(self.access, self.subscripts, self.type)


@dataclass(frozen=True, slots=True, eq=False)
class DataCondition:
    """A condition on data, where it stands, and whether its opposite is meant (in an ``else``)."""

    condition: Any
    environment: ExpressionEnvironment
    is_negated: bool


class ExpressionReader:
    """Reads expressions for their value, and keeps a list of the accesses."""

    def __init__(
        self, bindings: Bindings, affine: AffineReader, functions: ExpressionInliner
    ) -> None:
        """Keep the readers that this one works with."""
        self._bindings = bindings
        self._affine = affine
        self._functions = functions
        self._prototypes = PrototypeReader(bindings)
        self._source = bindings.source
        self._size = 0
        self.touches: list[SourceAccess] = []

    def record_access(self, node: Any, environment: ExpressionEnvironment) -> RecordedAccess:
        """Record an access to memory, at subscripts that are affine or computed."""
        computed: list[Any] = []
        touch = read_access(node, environment, self._bindings, self._affine, computed)
        access = self.record_again(touch)
        subscripts = tuple(self.value(expression, environment) for expression in computed)
        for expression, subscript in zip(computed, subscripts, strict=True):
            if not subscript.type.is_integer:
                raise self._source.error(
                    expression, f"a subscript is {subscript.type.value}; only integers can be"
                )
        return RecordedAccess(access, touch.type, subscripts, touch)

    def record_again(self, source_access: SourceAccess) -> ir.Access:
        """Record an access, which may have been recorded before, and return it, marked."""
        self.touches.append(source_access)
        return ir.Access(source_access.array, f"#{len(self.touches) - 1}", source_access.text)

    def value(self, node: Any, environment: ExpressionEnvironment) -> ir.Expression:
        """Return the value of an expression."""
        self._size += 1
        if self._size > _MAX_ACCESSES:
            raise LimitError.at(
                self._source.location(node),
                f"the region's expressions are too large: more than {_MAX_ACCESSES:,} parts",
            )
        match node:
            case c_ast.Constant():
                literal = parse_literal(node.value)
                if isinstance(literal, str):
                    raise self._source.error(node, literal)
                return literal
            case c_ast.ID():
                return self._name(node, environment)
            case c_ast.ArrayRef() | c_ast.UnaryOp(op="*"):
                return self.record_access(node, environment).value
            case c_ast.UnaryOp():
                return self._unary(node, environment)
            case c_ast.BinaryOp(op="&&" | "||"):
                return self._logical(node, environment)
            case c_ast.BinaryOp():
                left = self.value(node.left, environment)
                right = self.value(node.right, environment)
                return self.combine(node, node.op, left, right)
            case c_ast.TernaryOp():
                condition = self.value(node.cond, environment)
                reached, otherwise = self.branch_environments(node.cond, environment)
                then = self.value(node.iftrue, reached)
                return conditional(condition, then, self.value(node.iffalse, otherwise))
            case c_ast.Cast():
                scalar = self._bindings.cast_type(node)
                return convert_to_type(self.value(node.expr, environment), scalar)
            case c_ast.FuncCall():
                return self._call(node, environment)
            case _:
                raise self._source.error(node, _unsupported_message(node))

    def combine(
        self, node: Any, spelling: str, left: ir.Expression, right: ir.Expression
    ) -> ir.Expression:
        """Return ``left op right``; refuse what C gives no meaning."""
        if spelling in _COMPARISONS:
            return comparison_expression(_COMPARISONS[spelling], left, right)
        operator = _ARITHMETIC.get(spelling)
        if operator is None:
            raise self._source.error(node, f"the operator {spelling} is not supported")
        if operator in INTEGER_ONLY:
            for operand in (left, right):
                if not operand.type.is_integer:
                    raise self._source.error(
                        node, f"the operator {spelling} takes integers, not {operand.type.value}"
                    )
        result = binary_expression(operator, left, right)
        is_division = operator in (ir.BinaryOperator.DIVIDE, ir.BinaryOperator.REMAINDER)
        if is_division and result.type.is_integer and folded_constant(right, right.type) == 0:
            raise self._source.error(node, f"the operator {spelling} divides an integer by zero")
        return result

    def _name(self, node: Any, environment: ExpressionEnvironment) -> ir.Expression:
        binding = self._bindings.binding(node, environment, self._affine.expression)
        match binding:
            case LoopIterator(name=name, type=scalar):
                return ir.IteratorValue(name, scalar)
            case EnumeratorBinding(node=expression, offset=offset):
                constant = ir.IntegerLiteral(offset)
                if expression is None:
                    return constant
                value = self.value(expression, environment)
                if not offset:
                    return value
                return binary_expression(ir.BinaryOperator.ADD, value, constant)
            case AliasBinding():
                return convert_to_type(self.value(binding.node, binding.environment), binding.type)
            case KnownValue(symbol=symbol, value=value, type=scalar):
                result = affine_expression(value, scalar, environment, self._bindings)
                if result is not None:
                    return result
                if self._bindings.names.iterates_in_region(symbol):
                    raise self._source.error(
                        node, f"the value of {symbol.name} is too complex to be computed here"
                    )
                return self.record_access(node, environment).value
            case VariableBinding():
                return self.record_access(node, environment).value

    def _unary(self, node: Any, environment: ExpressionEnvironment) -> ir.Expression:
        if node.op not in ("+", "-", "~", "!"):
            raise self._source.error(node, _unsupported_message(node))
        operand = self.value(node.expr, environment)
        if node.op != "!":
            operand = convert_to_type(operand, operand.type.promoted)
        match node.op:
            case "+":
                return operand
            case "-":
                return ir.Unary(ir.UnaryOperator.NEGATE, operand, operand.type)
            case "!":
                zero = zero_of_type(operand.type)
                return ir.Comparison(ir.ComparisonOperator.EQUAL, operand, zero)
            case _:
                if not operand.type.is_integer:
                    raise self._source.error(
                        node, f"the operator ~ takes integers, not {operand.type.value}"
                    )
                return ir.Unary(ir.UnaryOperator.BIT_NOT, operand, operand.type)

    def _logical(self, node: Any, environment: ExpressionEnvironment) -> ir.Expression:
        """Return ``a && b`` as ``a ? b != 0 : 0`` and ``a || b`` as ``a ? 1 : b != 0``."""
        left = self.value(node.left, environment)
        holds, fails = self.branch_environments(node.left, environment)
        right = truth_value(self.value(node.right, holds if node.op == "&&" else fails))
        if node.op == "&&":
            return ir.Conditional(left, right, ir.IntegerLiteral(0), ScalarType.INT)
        return ir.Conditional(left, ir.IntegerLiteral(1), right, ScalarType.INT)

    def conjunction(
        self, conditions: Sequence[DataCondition], environment: ExpressionEnvironment
    ) -> ir.Expression | None:
        """Return whether all conditions on data around a statement hold; None where are none.

        ``if (a[i] > 0) b[i] = c[i];`` is ``b[i] = a[i] > 0 ? c[i] : b[i];``. The old value is read
        and written back in the instances where C does neither, without an effect: the element
        exists. Where that is not known, as of b[i + 1] in a loop to the last i, or of b[k[i]], the
        statement is an update (:class:`~polygym.ir.expressions.Update`), which touches no memory
        where the conditions fail. Nested conditions are asked from the outside to the inside, each
        only where those around it hold.
        """
        whole: ir.Expression | None = None
        for guard in conditions:
            # Read in the statement's own loops, with what was known where the condition stands.
            where = replace(
                environment,
                known_values=guard.environment.known_values,
                arguments=guard.environment.arguments,
                cache={},
                is_data_dependent=guard.environment.is_data_dependent,
            )
            condition = truth_value(self.value(guard.condition, where))
            no = ir.IntegerLiteral(0)
            if guard.is_negated:
                condition = ir.Comparison(ir.ComparisonOperator.EQUAL, condition, no)
            if whole is not None:
                condition = ir.Conditional(whole, condition, no, ScalarType.INT)
            whole = condition
        return whole

    def branch_environments(
        self, node: Any, environment: ExpressionEnvironment
    ) -> tuple[ExpressionEnvironment, ExpressionEnvironment]:
        """Return the environments where a condition may hold and where it may fail.

        A condition on iterators and parameters does one of both; one that reads data can go either
        way in every instance: ``i > 0 && x[i] > 1`` can hold only where ``i > 0``, fail anywhere.
        """
        if isinstance(node, c_ast.UnaryOp) and node.op == "!":
            holds, fails = self.branch_environments(node.expr, environment)
            return fails, holds
        if isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||"):
            left = self.branch_environments(node.left, environment)
            goes_on = node.op == "||"
            right = self.branch_environments(node.right, left[goes_on])
            done = left[not goes_on]
            either = environment.restricted_to(done.domain.union(right[not goes_on].domain))
            either = either.under_data_condition(environment, *left, *right)
            return (right[0], either) if node.op == "&&" else (either, right[1])
        result = self._bindings.read_if_possible(self._affine.condition, node, environment)
        if result is None:
            return environment.under_data_condition(), environment.under_data_condition()
        return environment.restricted_to(result), environment.restricted_to(result.complement())

    def _call(self, node: Any, environment: ExpressionEnvironment) -> ir.Expression:
        inlined = self._functions.inlined_expression(node, environment)
        if inlined is not None:
            return convert_to_type(self.value(inlined.node, inlined.environment), inlined.type)
        if (literal := builtin_literal(node)) is not None:
            return literal
        name = node.name.name
        operands = [self.value(operand, environment) for operand in operands_of(node)]
        name = overloaded_name(name, [operand.type for operand in operands], node, self._source)

        def check_count(expected: int) -> None:
            if len(operands) != expected:
                message = argument_count_message(name, expected, len(operands))
                raise self._source.error(node, message)

        if name in _MATH:
            function, scalar = _MATH[name]
            check_count(function.arity)
            is_float = all(operand.type is ScalarType.FLOAT for operand in operands)
            if self._source.is_generic and is_float:
                scalar = ScalarType.FLOAT
            converted = tuple(convert_to_type(operand, scalar) for operand in operands)
            return ir.Call(function, converted, scalar)
        if name in _FLOAT_CLASSIFICATION and len(operands) == 1 and operands[0].type.is_floating:
            return _FLOAT_CLASSIFICATION[name](operands[0])
        if name in ("min", "max") and len(operands) == 2:
            if all(operand.type.is_integer for operand in operands):
                less = ir.ComparisonOperator("<" if name == "min" else ">")
                return conditional(comparison_expression(less, *operands), *operands)
            raise self._source.error(
                node, f"{name} of floating values is no function of C", f"call f{name}"
            )
        foreign, scalar = self._prototypes.foreign_function(node, name)
        check_count(foreign.arity)
        handed = tuple(map(convert_to_type, operands, foreign.parameter_types))
        return ir.Call(foreign, handed, scalar)


def _unsupported_message(node: Any) -> str:
    """Return the sentence that refuses a node which has no value here."""
    match node:
        case c_ast.Assignment():
            return "an assignment inside an expression is not supported"
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
            return f"{node.op.strip('p')} inside an expression is a side effect"
        case c_ast.UnaryOp(op="&"):
            return "taking an address is not supported"
        case c_ast.UnaryOp(op="sizeof"):
            return "sizeof is not supported"
        case c_ast.ExprList():
            return "the comma operator is not supported"
        case c_ast.StructRef():
            return "members of structures are not supported"
        case c_ast.CompoundLiteral() | c_ast.InitList():
            return "compound literals and initialiser lists are not supported"
        case c_ast.Compound():
            return "a block inside an expression is not supported"
        case _:
            return "this expression is not supported"
