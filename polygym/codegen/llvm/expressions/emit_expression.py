"""Emission of a statement's expression.

C's semantics are already explicit in the expression; what is decided here:

* ``a * b + c`` becomes ``llvm.fmuladd`` where a C compiler's default contraction would fuse: the
  product is a direct operand of the sum, in one statement. Whether it fuses depends on the CPU
  alone, so every schedule of a program computes the same bits;
* nothing is undefined: integers wrap, shift counts are taken modulo the width, conversions
  saturate, and a division by zero traps;
* an arm of ``?:`` that may trap or is costly is put behind a branch, others become ``select``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from llvmlite import ir

from polygym.codegen.common.math_support import is_cheap
from polygym.codegen.llvm.core.emit_index import Environment
from polygym.codegen.llvm.core.types import I1, LLVM_TYPE, splat, value_type
from polygym.codegen.llvm.expressions.emit_half import round_to_half, widen_to_float
from polygym.codegen.llvm.expressions.math_functions import emit_math_call
from polygym.ir.data_bounds import holds_by
from polygym.ir.expressions import (
    Binary,
    BinaryOperator,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Conditional,
    Expression,
    FloatLiteral,
    Gather,
    IntegerLiteral,
    IteratorValue,
    Load,
    ParameterValue,
    Unary,
    UnaryOperator,
    Update,
    loaded_accesses,
    walk,
)
from polygym.ir.rounding import bit_pattern
from polygym.ir.types import ScalarType

_TRAP_TYPE = ir.FunctionType(ir.VoidType(), [])
_INSTRUCTIONS = {
    BinaryOperator.ADD: "add",
    BinaryOperator.SUBTRACT: "sub",
    BinaryOperator.MULTIPLY: "mul",
    BinaryOperator.BIT_AND: "and_",
    BinaryOperator.BIT_OR: "or_",
    BinaryOperator.BIT_XOR: "xor",
}
"""The builder's methods for operators of integers; those of floats begin with ``f``."""


@dataclass(frozen=True)
class ExpressionEmitter:
    """Emits the body of one statement instance.

    Loads are numbered in the order of :func:`polygym.ir.expressions.loaded_accesses`; ``load``
    emits the load with a number, ``gather`` a gather, whose computed subscripts it is given;
    ``guarded`` are the numbers that must stay behind their condition. With ``lanes``, every value
    is a vector of so many; ``known`` conditions hold. ``start`` arguments below are the number of
    the first load of a subtree.
    """

    module: ir.Module
    builder: ir.IRBuilder
    iterators: Callable[[str], Any]
    parameters: Environment
    load: Callable[[int], Any]
    gather: Callable[[int, Gather, list[Any]], Any]
    guarded: frozenset[int]
    fuses: bool
    flags: tuple[str, ...]
    lanes: int | None = None
    known: frozenset[Expression] = frozenset()

    def holds(self, condition: Expression) -> bool:
        """Whether it is known that a condition holds."""
        return bool(self.known) and holds_by(condition, self.known)

    def emit(self, expression: Expression, start: int = 0) -> Any:
        """Return the value of an expression."""
        match expression:
            case IntegerLiteral(value, type_):
                # LLVM's integers have no sign; what is written is the signed number of these bits.
                number = value - (1 << type_.bits) if value >> (type_.bits - 1) > 0 else value
                return self._constant(LLVM_TYPE[type_], number)
            case FloatLiteral(value, type_) if type_.is_storage_only:
                bits = bit_pattern(value, type_)
                return self._constant(LLVM_TYPE[type_], bits - (1 << 16) if bits >> 15 else bits)
            case FloatLiteral(value, type_):
                return self._constant(LLVM_TYPE[type_], value)
            case IteratorValue(name, type_):
                return self._narrow(self.iterators(name), type_)
            case ParameterValue(name, type_):
                return self._narrow(self._splat(self.parameters[name]), type_)
            case Load():
                return self.load(start)
            case Gather(subscripts=subscripts):
                return self.gather(start, expression, self.emit_each(subscripts, start + 1))
            case Unary():
                return self._unary(expression, start)
            case Binary():
                return self._binary(expression, start)
            case Comparison():
                truth = self.emit_truth(expression, start)
                return self.builder.zext(truth, self._kind(ScalarType.INT))
            case Conditional():
                return self._conditional(expression, start, self.emit)
            case Cast(operand, type_):
                return self._cast(self.emit(operand, start), operand.type, type_)
            case Call(function, arguments, type_):
                values = self.emit_each(arguments, start)
                return emit_math_call(self.module, self.builder, function, type_, values)
            case Update():
                raise AssertionError("an update is no part of an expression")
            case _:
                assert_never(expression)

    def emit_each(self, operands: Sequence[Expression], start: int) -> list[Any]:
        """Return the values of operands that stand one after the other."""
        values = []
        for operand in operands:
            values.append(self.emit(operand, start))
            start += len(loaded_accesses(operand))
        return values

    def _narrow(self, value: Any, type_: ScalarType) -> Any:
        """Give an i64 counter or parameter the width of its C type."""
        return value if type_.size == 8 else self.builder.trunc(value, self._kind(type_))

    def _kind(self, type_: ScalarType) -> Any:
        return value_type(LLVM_TYPE[type_], self.lanes)

    def _constant(self, element: Any, value: int | float) -> Any:
        if self.lanes is None:
            return ir.Constant(element, value)
        return ir.Constant(value_type(element, self.lanes), [value] * self.lanes)

    def _splat(self, value: Any) -> Any:
        """Return a value that is the same in all lanes."""
        return value if self.lanes is None else splat(self.builder, value, self.lanes)

    def _unary(self, expression: Unary, start: int) -> Any:
        operand = self.emit(expression.operand, start)
        match expression.operator:
            case UnaryOperator.NEGATE:
                if expression.type.is_floating:
                    return self.builder.fneg(operand)
                return self.builder.neg(operand)
            case UnaryOperator.BIT_NOT:
                return self.builder.not_(operand)
            case _:
                assert_never(expression.operator)

    def _binary(self, expression: Binary, start: int) -> Any:
        if expression.type.is_floating and self.fuses:
            fused = self._fused(expression, start)
            if fused is not None:
                return fused
        left = self.emit(expression.left, start)
        right = self.emit(expression.right, start + len(loaded_accesses(expression.left)))
        if expression.type.is_floating:
            return self._floating(expression.operator, left, right)
        return self._integer(expression, left, right)

    def _fused(self, expression: Binary, start: int) -> Any:
        """Return a fused multiply-add for the sum, or None when neither operand is a product.

        ``a*b + c`` → fmuladd(a, b, c); ``a*b - c`` → fmuladd(a, b, -c);
        ``c + a*b`` → fmuladd(a, b, c); ``c - a*b`` → fmuladd(-a, b, c). The left product wins.
        """
        if expression.operator not in (BinaryOperator.ADD, BinaryOperator.SUBTRACT):
            return None
        subtract = expression.operator is BinaryOperator.SUBTRACT
        after_left = start + len(loaded_accesses(expression.left))
        match expression.left, expression.right:
            case Binary(BinaryOperator.MULTIPLY, a, b), c:
                first, second = self._factors(a, b, start)
                addend = self.emit(c, after_left)
                if subtract:
                    addend = self.builder.fneg(addend)
            case c, Binary(BinaryOperator.MULTIPLY, a, b):
                addend = self.emit(c, start)
                first, second = self._factors(a, b, after_left)
                if subtract:
                    first = self.builder.fneg(first)
            case _:
                return None
        kind = first.type
        intrinsic = self.module.declare_intrinsic(
            "llvm.fmuladd", [kind], ir.FunctionType(kind, [kind] * 3)
        )
        return self.builder.call(intrinsic, [first, second, addend], fastmath=self.flags)

    def _factors(self, a: Expression, b: Expression, start: int) -> tuple[Any, Any]:
        return self.emit(a, start), self.emit(b, start + len(loaded_accesses(a)))

    def _floating(self, operator: BinaryOperator, left: Any, right: Any) -> Any:
        if operator is BinaryOperator.DIVIDE:
            return self.builder.fdiv(left, right)
        return getattr(self.builder, f"f{_INSTRUCTIONS[operator]}")(left, right, flags=self.flags)

    def _integer(self, expression: Binary, left: Any, right: Any) -> Any:
        operator, right_type = expression.operator, expression.right.type
        match operator:
            case BinaryOperator.DIVIDE | BinaryOperator.REMAINDER:
                return self._integer_division(operator, left, right, expression.type)
            case BinaryOperator.SHIFT_LEFT:
                return self.builder.shl(left, self._shift_count(left, right, right_type))
            case BinaryOperator.SHIFT_RIGHT:
                count = self._shift_count(left, right, right_type)
                shift = self.builder.ashr if expression.type.is_signed else self.builder.lshr
                return shift(left, count)
            case _:
                return getattr(self.builder, _INSTRUCTIONS[operator])(left, right)

    def _integer_division(
        self, operator: BinaryOperator, left: Any, right: Any, type_: ScalarType
    ) -> Any:
        """Divide, with nothing left undefined: by zero it traps, by -1 it wraps.

        LLVM may delete a division by zero and whatever follows; a trap is a crash that shows.
        """
        builder = self.builder
        divide = operator is BinaryOperator.DIVIDE
        quotient = builder.sdiv if type_.is_signed else builder.udiv
        remainder = builder.srem if type_.is_signed else builder.urem
        if isinstance(right, ir.Constant) and right.constant not in (0, -1):
            return quotient(left, right) if divide else remainder(left, right)
        is_zero = builder.icmp_signed("==", right, ir.Constant(right.type, 0))
        with builder.if_then(is_zero, likely=False):
            builder.call(self.module.declare_intrinsic("llvm.trap", (), _TRAP_TYPE), [])
        if not type_.is_signed:
            return quotient(left, right) if divide else remainder(left, right)
        minus_one = ir.Constant(right.type, -1)
        is_minus_one = builder.icmp_signed("==", right, minus_one)
        divisor = builder.select(is_minus_one, ir.Constant(right.type, 1), right)
        if divide:
            return builder.select(is_minus_one, builder.neg(left), builder.sdiv(left, divisor))
        return builder.srem(left, divisor)  # by 1 or by -1 the remainder is 0

    def _shift_count(self, left: Any, right: Any, right_type: ScalarType) -> Any:
        """Bring the count to the width of the shifted value and below it."""
        if left.type.width > right_type.bits:
            right = self.builder.sext(right, left.type)
        elif left.type.width < right_type.bits:
            right = self.builder.trunc(right, left.type)
        return self.builder.and_(right, ir.Constant(left.type, left.type.width - 1))

    def _cast(self, value: Any, source: ScalarType, target: ScalarType) -> Any:
        if source is target:
            return value
        to = self._kind(target)
        if source.is_storage_only:
            single = widen_to_float(self.builder, value, source)
            return single if target is ScalarType.FLOAT else self.builder.fpext(single, to)
        if target.is_storage_only:
            return round_to_half(self.builder, value, target)
        if target is ScalarType.BOOL:
            return self.builder.zext(self._is_not_zero(value, source), to)
        if source.is_integer and target.is_integer:
            if source.bits == target.bits:
                return value
            if source.bits > target.bits:
                return self.builder.trunc(value, to)
            return (self.builder.sext if source.is_signed else self.builder.zext)(value, to)
        if source.is_integer:
            return (self.builder.sitofp if source.is_signed else self.builder.uitofp)(value, to)
        if target.is_integer:
            # Values that do not fit saturate, and NaN gives 0, where C leaves it undefined.
            intrinsic = self.module.declare_intrinsic(
                "llvm.fptosi.sat" if target.is_signed else "llvm.fptoui.sat",
                [to, value.type],
                ir.FunctionType(to, [value.type]),
            )
            return self.builder.call(intrinsic, [value])
        widen = source.bits < target.bits
        return self.builder.fpext(value, to) if widen else self.builder.fptrunc(value, to)

    def emit_truth(self, expression: Expression, start: int) -> Any:
        """Return an expression as i1, true where C says that it is not zero."""
        match expression:
            case Comparison(operator, left, right):
                first = self.emit(left, start)
                second = self.emit(right, start + len(loaded_accesses(left)))
                if left.type.is_integer and left.type.is_signed:
                    return self.builder.icmp_signed(operator.value, first, second)
                if left.type.is_integer:
                    return self.builder.icmp_unsigned(operator.value, first, second)
                if operator is ComparisonOperator.NOT_EQUAL:
                    return self.builder.fcmp_unordered("!=", first, second)
                return self.builder.fcmp_ordered(operator.value, first, second)
            case IntegerLiteral(value):
                return self._constant(I1, int(value != 0))
            case Conditional():
                return self._conditional(expression, start, self.emit_truth)
            case _:
                return self._is_not_zero(self.emit(expression, start), expression.type)

    def _is_not_zero(self, value: Any, type_: ScalarType) -> Any:
        """Return whether a value is what C takes for true, as i1."""
        zero = self._constant(LLVM_TYPE[type_], 0)
        if type_.is_integer:
            return self.builder.icmp_signed("!=", value, zero)
        return self.builder.fcmp_unordered("!=", value, zero)

    def _conditional(
        self, expression: Conditional, start: int, emit: Callable[[Expression, int], Any]
    ) -> Any:
        """Choose between two arms, behind branches where an arm must not or should not run."""
        if self.holds(expression.condition):
            return emit(expression.then, start + len(loaded_accesses(expression.condition)))
        condition = self.emit_truth(expression.condition, start)
        start += len(loaded_accesses(expression.condition))
        then = (expression.then, start)
        otherwise = (expression.otherwise, start + len(loaded_accesses(expression.then)))
        builder = self.builder
        if not (self._needs_branch(*then) or self._needs_branch(*otherwise)):
            return builder.select(condition, emit(*then), emit(*otherwise))
        then_block = builder.append_basic_block("then")
        else_block = builder.append_basic_block("else")
        join_block = builder.append_basic_block("join")
        builder.cbranch(condition, then_block, else_block)
        incoming = []
        for block, arm in ((then_block, then), (else_block, otherwise)):
            builder.position_at_end(block)
            value = emit(*arm)
            incoming.append((value, builder.block))
            builder.branch(join_block)
        builder.position_at_end(join_block)
        result = builder.phi(incoming[0][0].type)
        for value, block in incoming:
            result.add_incoming(value, block)
        return result

    def _needs_branch(self, arm: Expression, start: int) -> bool:
        """Whether evaluating the arm for nothing could trap, or leave an array, or be slow.

        Lanes of a vector do not part: for them both arms are computed, however slow they are.
        """
        if not self.guarded.isdisjoint(range(start, start + len(loaded_accesses(arm)))):
            return True
        return any(
            isinstance(node, Gather)
            or _may_trap(node)
            or (isinstance(node, Call) and self.lanes is None and not is_cheap(node.function))
            for node in walk(arm)
        )


def _may_trap(node: Expression) -> bool:
    """Whether the node is an integer division whose divisor may be 0 or -1."""
    match node:
        case Binary(BinaryOperator.DIVIDE | BinaryOperator.REMAINDER, _, right, type_):
            safe = isinstance(right, IntegerLiteral) and right.value not in (0, -1)
            return type_.is_integer and not safe
        case _:
            return False
