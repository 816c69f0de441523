"""C expressions to isl: quasi-affine functions of parameters and iterators, or a refusal.

A *quasi-affine* expression is made of integer constants, parameters and iterators by addition,
subtraction, multiplication by a constant, and division or remainder by a constant; ``?:`` on affine
conditions makes it *piecewise* so. C divides towards zero, isl knows floor, hence for ``c > 0``::

    e / c = floor(e / c)      where e >= 0            -7 / 2 = -floor(7 / 2) = -3
    e / c = -floor(-e / c)    where e < 0

All functions here have the parameters *and the iterators* as isl parameters and no dimension of
their own: ``[n, i] -> { [] -> [n - i] }``. isl then aligns spaces by name, and a loop nest's
iterators become dimensions only when a domain is complete.
"""

from collections.abc import Sequence
from typing import Any

import islpy as isl
from pycparser import c_ast

from polygym.errors import LimitError, SourceError
from polygym.frontend.c.sema import integer_arithmetic
from polygym.frontend.c.sema.affine_expressions import COMPARISONS, merge_pieces, read_condition
from polygym.frontend.c.sema.bindings import (
    AliasBinding,
    Bindings,
    EnumeratorBinding,
    ExpressionEnvironment,
    KnownValue,
    LoopIterator,
    VariableBinding,
)
from polygym.frontend.c.sema.diagnostics import replacement_hint
from polygym.frontend.c.sema.functions import ExpressionInliner
from polygym.frontend.c.source.literals import parse_literal
from polygym.ir.expressions import IntegerLiteral
from polygym.ir.types import ScalarType, common_type

# Work on sets grows at least quadratically with their convex pieces; programs have a few.
_MAX_PIECES = 200
# Every division is an unknown integer of its own in questions that are exponential in unknowns.
_MAX_DIVISIONS = 24


class AffineReader:
    """Reads affine expressions and conditions."""

    def __init__(self, bindings: Bindings, functions: ExpressionInliner) -> None:
        """Keep what names stand for and the functions that can be inlined."""
        self._bindings = bindings
        self._functions = functions
        self._source = bindings.source
        space = isl.Space.set_alloc(bindings.context, 0, 0)
        self._zero = isl.PwAff.from_aff(isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space)))
        # The node is kept with its number: an identity is only good while the object lives.
        narrow = integer_arithmetic.narrow_type_names(bindings.names.typedefs)
        self.is_narrow = any(
            token.text in narrow
            or (token.text[0].isdigit() and ("u" in token.text.lower() or len(token.text) > 9))
            for token in self._source.tokens
        )
        self._keys: dict[int, tuple[Any, int]] = {}
        self._interned: dict[tuple[Any, ...], int] = {}

    def constant(self, value: int) -> Any:
        """Return a constant function."""
        return self._zero.add_constant_val(isl.Val(str(value), self._bindings.context))

    def condition(self, node: Any, environment: ExpressionEnvironment) -> Any:
        """Return the set where a condition holds."""
        return read_condition(self, node, environment).coalesce()

    def expression(self, node: Any, environment: ExpressionEnvironment) -> Any:
        """Return the value of an affine expression; refuse any other at its place.

        Macros such as MIN repeat their arguments, nested ones exponentially often, so every
        distinct subexpression is read once per environment.
        """
        key = self._key(node)
        if key not in environment.cache:
            kind = self.kind(node, environment) if self.is_narrow else ScalarType.INT
            if kind is ScalarType.INT or kind is ScalarType.LONG:
                value = self._read(node, environment)
            else:
                value = self._held(self._sum(node, kind, environment), kind, environment)
            if value.n_piece() > _MAX_PIECES:
                raise LimitError.at(
                    self._source.location(node),
                    f"{environment.role} falls into more than {_MAX_PIECES} pieces",
                )
            environment.cache[key] = value
        return environment.cache[key]

    def converted_on_assignment(
        self, value: Any, node: Any, scalar: ScalarType, environment: ExpressionEnvironment
    ) -> Any:
        """Return what a variable of a type holds after a value has been assigned to it."""
        if not self.is_narrow:
            return value
        return integer_arithmetic.converted_value(
            value, self.kind(node, environment), scalar, environment.domain
        )

    def within_piece_limit(self, node: Any, condition: Any) -> Any:
        """Return a condition, or refuse one that falls into too many convex pieces."""
        if condition.n_basic_set() > _MAX_PIECES:
            raise LimitError.at(
                self._source.location(node),
                f"the condition up to here falls into more than {_MAX_PIECES} convex pieces",
            )
        if any(p.dim(isl.dim_type.div) > _MAX_DIVISIONS for p in condition.get_basic_sets()):
            raise LimitError.at(
                self._source.location(node),
                f"the condition up to here needs more than {_MAX_DIVISIONS} divisions at once",
            )
        return condition

    def _held(self, value: Any, scalar: ScalarType, environment: ExpressionEnvironment) -> Any:
        """Return what an unsigned type, in which a value is computed, holds of it."""
        if not scalar.is_integer or integer_arithmetic.is_representable(
            value, scalar, environment.domain
        ):
            return value
        return integer_arithmetic.wrapped_value(value, scalar)

    def _sum(self, node: Any, kind: ScalarType, environment: ExpressionEnvironment) -> Any:
        """Return a value before it is what its type holds: ``y + d`` is less than y for d = -1.

        Sums and products of what is left modulo a number are, but for it, those of the numbers.
        """
        if not isinstance(node, c_ast.BinaryOp) or node.op not in ("+", "-", "*"):
            return self._read(node, environment)
        left, right = (
            self._sum(operand, kind, environment)
            if self.kind(operand, environment) is kind
            else self.expression(operand, environment)
            for operand in (node.left, node.right)
        )
        return self._combined(node, left, right, environment)

    def operands(
        self, left: Any, right: Any, environment: ExpressionEnvironment
    ) -> tuple[Any, Any]:
        """Return the values of two operands in their common type."""
        first = self.expression(left, environment)
        second = self.expression(right, environment)
        if not self.is_narrow:
            return first, second
        kinds = self.kind(left, environment), self.kind(right, environment)
        both = common_type(*kinds)
        domain = environment.domain
        return (
            integer_arithmetic.converted_value(first, kinds[0], both, domain),
            integer_arithmetic.converted_value(second, kinds[1], both, domain),
        )

    def kind(self, node: Any, environment: ExpressionEnvironment) -> ScalarType:
        """Return the type in which C computes an expression."""
        match node:
            case c_ast.Constant():
                literal = parse_literal(node.value)
                return ScalarType.INT if isinstance(literal, str) else literal.type
            case c_ast.ID():
                binding = self._bindings.binding(node, environment, self.expression)
                match binding:
                    case LoopIterator() | AliasBinding() | KnownValue():
                        return binding.type
                    case VariableBinding():
                        return binding.shape.type
                    case EnumeratorBinding():
                        return ScalarType.INT
            case c_ast.UnaryOp(op="-" | "+" | "~"):
                return self.kind(node.expr, environment).promoted
            case c_ast.BinaryOp() if node.op in COMPARISONS or node.op in ("&&", "||"):
                return ScalarType.INT
            case c_ast.BinaryOp(op="<<" | ">>"):
                return self.kind(node.left, environment).promoted
            case c_ast.BinaryOp():
                return self._common_kind((node.left, node.right), environment)
            case c_ast.TernaryOp():
                return self._common_kind((node.iftrue, node.iffalse), environment)
            case c_ast.Cast():
                return self._bindings.cast_type(node)
            case c_ast.FuncCall():
                inlined = self._functions.inlined_expression(node, environment)
                if inlined is not None:
                    return inlined.type
                operands = list(node.args.exprs) if node.args else []
                if getattr(node.name, "name", "") in ("min", "max") and len(operands) == 2:
                    return self._common_kind(operands, environment)
        return ScalarType.INT

    def _common_kind(
        self, operands: Sequence[Any], environment: ExpressionEnvironment
    ) -> ScalarType:
        first, second = (self.kind(operand, environment) for operand in operands)
        return common_type(first, second)

    def _key(self, node: Any) -> int:
        """Return a number that equal subexpressions share."""
        if id(node) not in self._keys:
            symbol = self._bindings.names.symbol_of(node)
            spelling = tuple(getattr(node, name) for name in node.attr_names)
            parts = tuple(self._key(child) for _, child in node.children())
            content = (type(node), id(symbol), repr(spelling), parts)
            self._keys[id(node)] = node, self._interned.setdefault(content, len(self._interned))
        return self._keys[id(node)][1]

    def _read(self, node: Any, environment: ExpressionEnvironment) -> Any:
        """Read one node."""
        match node:
            case c_ast.Constant():
                return self._constant(node, environment)
            case c_ast.ID():
                return self._name(node, environment)
            case c_ast.UnaryOp():
                return self._unary(node, environment)
            case c_ast.BinaryOp() if node.op in COMPARISONS or node.op in ("&&", "||"):
                return self._truth(node, environment)
            case c_ast.BinaryOp():
                return self._binary(node, environment)
            case c_ast.TernaryOp():
                return self._choice(node, environment)
            case c_ast.Cast():
                scalar = self._bindings.cast_type(node)
                if not scalar.is_integer:
                    raise self._refuse(node, environment, f"is cast to {scalar.value}")
                value = self.expression(node.expr, environment)
                if not self.is_narrow:
                    return value
                kind = self.kind(node.expr, environment)
                return integer_arithmetic.converted_value(value, kind, scalar, environment.domain)
            case c_ast.FuncCall():
                return self._call(node, environment)
            case c_ast.ArrayRef():
                raise self._refuse(node, environment, "depends on data: it reads an array")
            case c_ast.Assignment():
                raise self._refuse(node, environment, "assigns a variable")
            case _:
                raise self._refuse(node, environment, "is not affine")

    def _refuse(self, node: Any, environment: ExpressionEnvironment, reason: str) -> SourceError:
        """Return the refusal of an expression that is not affine."""
        hint = replacement_hint(environment.role, reason)
        return self._source.error(node, f"{environment.role} {reason}", hint)

    def _constant(self, node: Any, environment: ExpressionEnvironment) -> Any:
        literal = parse_literal(node.value)
        if isinstance(literal, str):
            raise self._source.error(node, literal)
        if not isinstance(literal, IntegerLiteral):
            raise self._refuse(node, environment, f"uses {node.value}, which is no integer")
        return self.constant(literal.value)

    def _name(self, node: Any, environment: ExpressionEnvironment) -> Any:
        binding = self._bindings.binding(node, environment, self.expression)
        match binding:
            case LoopIterator():
                return self._bindings.variable(binding.name)
            case EnumeratorBinding():
                value = self.constant(binding.offset)
                if binding.node is not None:
                    value = value.add(self.expression(binding.node, environment))
                return value
            case AliasBinding():
                if not binding.type.is_integer:
                    raise self._refuse(node, environment, f"uses {node.name}, which is no integer")
                value = self.expression(binding.node, binding.environment)
                return self.converted_on_assignment(
                    value, binding.node, binding.type, binding.environment
                )
            case KnownValue(value=value):
                return value
            case VariableBinding():
                return self._bindings.parameter(binding, node, environment.role)

    def _unary(self, node: Any, environment: ExpressionEnvironment) -> Any:
        match node.op:
            case "+":
                return self.expression(node.expr, environment)
            case "-":
                return self.expression(node.expr, environment).neg()
            case "~":
                return self.expression(node.expr, environment).neg().add(self.constant(-1))
            case "!":
                return self._truth(node, environment)
            case "*":
                raise self._refuse(node, environment, "depends on data: it reads through a pointer")
            case "sizeof":
                raise self._refuse(node, environment, "uses sizeof")
            case "&":
                raise self._refuse(node, environment, "takes an address")
            case _:
                raise self._refuse(node, environment, f"changes a variable by {node.op.strip('p')}")

    def _truth(self, node: Any, environment: ExpressionEnvironment) -> Any:
        """Return the value of a condition: 1 where it holds, 0 otherwise."""
        holds = self.condition(node, environment)
        true_value = self.constant(1).intersect_domain(holds)
        return true_value.union_add(self.constant(0).intersect_domain(holds.complement()))

    def _binary(self, node: Any, environment: ExpressionEnvironment) -> Any:
        if node.op in ("<<", ">>"):
            left = self.expression(node.left, environment)
            right = self.expression(node.right, environment)
        else:
            left, right = self.operands(node.left, node.right, environment)
        return self._combined(node, left, right, environment)

    def _combined(
        self, node: Any, left: Any, right: Any, environment: ExpressionEnvironment
    ) -> Any:
        """Return what an operator makes of two values."""
        match node.op:
            case "+":
                return left.add(right)
            case "-":
                return left.sub(right)
            case "*":
                for factor, other in ((right, left), (left, right)):
                    if (value := integer_arithmetic.constant_of_function(factor)) is not None:
                        return other.scale_val(value)
                for factor, other in ((right, left), (left, right)):
                    value = integer_arithmetic.constant_on_domain(factor, environment.domain)
                    if value is not None:
                        return other.scale_val(value)
                raise self._refuse(node, environment, "multiplies two values that are not constant")
            case "/" | "%":
                return self._divide(node, left, right, environment)
            case "<<" | ">>" | "&":
                if isinstance(
                    result := integer_arithmetic.shift_or_mask(node.op, left, right), str
                ):
                    raise self._refuse(node, environment, result)
                return result
            case _:
                raise self._refuse(node, environment, f"uses the operator {node.op}")

    def _divide(self, node: Any, left: Any, right: Any, environment: ExpressionEnvironment) -> Any:
        """Return C's quotient or remainder."""
        divisor = integer_arithmetic.constant_on_domain(right, environment.domain)
        if divisor is not None and divisor.is_zero():
            raise self._refuse(node, environment, "divides by zero")
        if divisor is not None:
            quotient = integer_arithmetic.truncated_quotient(left, divisor, environment.domain)
            if node.op == "/":
                return quotient
            return left.sub(quotient.scale_val(divisor)).coalesce()
        result = integer_arithmetic.divided_by_parameter(node.op, left, right, environment.domain)
        if result is None:
            raise self._refuse(
                node,
                environment,
                "divides by a value that is not constant, and the quotient is not known to be "
                "between -4 and 4",
            )
        return result

    def _choice(self, node: Any, environment: ExpressionEnvironment) -> Any:
        """Return ``c ? a : b``; an arm that has a meaning only where it is reached is read there.

        ``i < n ? i : i - n`` gives one piece for each arm; pieces are joined where they can be.
        """
        holds = self.condition(node.cond, environment)
        result: Any = None
        for arm, where in ((node.iftrue, holds), (node.iffalse, holds.complement())):
            try:
                value = self.expression(arm, environment)
            except SourceError:
                value = self.expression(arm, environment.restricted_to(where))
            if self.is_narrow:
                kinds = self.kind(arm, environment), self.kind(node, environment)
                domain = environment.restricted_to(where).domain
                value = integer_arithmetic.converted_value(value, *kinds, domain)
            value = value.intersect_domain(where)
            result = value if result is None else result.union_add(value)
        return merge_pieces(result.coalesce())

    def _call(self, node: Any, environment: ExpressionEnvironment) -> Any:
        """Return a call of min, max, abs, floord, ceild, or of a function of the file."""
        inlined = self._functions.inlined_expression(node, environment)
        if inlined is not None:
            if not inlined.type.is_integer:
                raise self._refuse(node, environment, f"calls a {inlined.type.value} function")
            value = self.expression(inlined.node, inlined.environment)
            return self.converted_on_assignment(
                value, inlined.node, inlined.type, inlined.environment
            )
        name = getattr(node.name, "name", "")
        operands = list(node.args.exprs) if node.args else []
        if name in ("min", "max") and len(operands) == 2:
            values = list(self.operands(operands[0], operands[1], environment))
        else:
            values = [self.expression(operand, environment) for operand in operands]
        match name, values:
            case ("min", [left, right]):
                return left.min(right).coalesce()
            case ("max", [left, right]):
                return left.max(right).coalesce()
            case ("abs" | "labs", [value]):
                return value.max(value.neg())
            case ("floord" | "ceild", [left, right]):
                divisor = integer_arithmetic.constant_of_function(right)
                if divisor is None or not divisor.is_pos():
                    raise self._refuse(node, environment, "divides by no positive constant")
                ratio = left.scale_down_val(divisor)
                return ratio.floor() if name == "floord" else ratio.ceil()
            case _:
                raise self._refuse(node, environment, f"calls {name or 'a function'}")
