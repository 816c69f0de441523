"""An interpreter of Scops: slow, small, and written from the definitions alone.

It executes every statement instance in the order of a schedule, with C's semantics: ``int`` wraps
at 32 bits and ``long`` at 64, division truncates towards zero, ``float`` expressions are rounded to
single precision after every operation, math.h is the C library's, but for polygym's own exp. Tests
compare compiled code and other oracles with it.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import struct
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, assert_never

import islpy as isl
import numpy as np

from polygym.ir.expressions import (
    Access,
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
    MathFunction,
    ParameterValue,
    Unary,
    UnaryOperator,
    Update,
)
from polygym.ir.rounding import round_to_type
from polygym.ir.scop import Array, Scop, Statement, StorageClass
from polygym.ir.types import ScalarType

DTYPES = {
    ScalarType.UNSIGNED_BYTE: np.dtype(np.uint8),
    ScalarType.SHORT: np.dtype(np.int16),
    ScalarType.INT: np.dtype(np.int32),
    ScalarType.LONG: np.dtype(np.int64),
    ScalarType.HALF: np.dtype(np.float16),
    ScalarType.FLOAT: np.dtype(np.float32),
    ScalarType.DOUBLE: np.dtype(np.float64),
}

Value = int | float
Instance = tuple[int, ...]
Environment = Mapping[str, int]

_LIBM = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")


def interpret(
    scop: Scop,
    parameters: dict[str, int],
    arrays: dict[str, np.ndarray[Any, Any]],
    order: str | None = None,
) -> None:
    """Run a program: change ``arrays`` in place.

    Args:
        scop: The program.
        parameters: A value for every parameter.
        arrays: The arrays and scalars (arrays without dimensions) by name. Locals and block-locals
            may be missing; they start from their initial value or zero.
        order: A schedule as isl text, one map for every statement; the original order if None.
            Instances with equal time stamps run in textual order.
    """
    _Run(scop, parameters, arrays).execute(order)


def trace(
    scop: Scop, parameters: dict[str, int], order: str | None = None
) -> list[tuple[str, Instance]]:
    """Return the statement instances (name, iterator values) in the order of a schedule."""
    run = _Run(scop, parameters, {})
    return [(statement.name, instance) for statement, instance in run.instances(order)]


def allocate(scop: Scop, array: Array, parameters: Mapping[str, int]) -> np.ndarray[Any, Any]:
    """Return an array of its initial values, or zeros, as large as the parameters make it."""
    shape = tuple(
        int(_fixed_pw_aff(text, parameters).max_val().to_python()) for text in array.extents
    )
    if isinstance(array.initial, tuple):
        return np.array(array.initial, dtype=DTYPES[array.type]).reshape(shape)
    return np.full(shape, array.initial or 0, dtype=DTYPES[array.type])


def _fixed_pw_aff(text: str, parameters: Mapping[str, int]) -> Any:
    """Return a function of parameters with their values put in."""
    function = isl.PwAff.read_from_str(isl.DEFAULT_CONTEXT, text)
    constraints = " and ".join(f"{name} = {value}" for name, value in parameters.items())
    names = ", ".join(parameters)
    where = f"[{names}] -> {{ : {constraints or 'true'} }}"
    return function.intersect_params(isl.Set.read_from_str(isl.DEFAULT_CONTEXT, where))


class _Run:
    """One execution."""

    def __init__(
        self, scop: Scop, parameters: dict[str, int], arrays: dict[str, np.ndarray[Any, Any]]
    ) -> None:
        """Allocate what is missing."""
        self.scop = scop
        self.parameters = parameters
        self.arrays = dict(arrays)
        for array in scop.arrays:
            internal = (
                array.storage_class in (StorageClass.LOCAL, StorageClass.BLOCK)
                or array.initial is not None
            )
            if array.name not in self.arrays and internal:
                self.arrays[array.name] = allocate(scop, array, parameters)
        constraints = " and ".join(f"{name} = {value}" for name, value in parameters.items())
        text = f"[{', '.join(parameters)}] -> {{ : {constraints or 'true'} }}"
        self.values = isl.Set.read_from_str(isl.DEFAULT_CONTEXT, text)

    def pairs(self, text: str, domain: Any) -> Iterator[tuple[Instance, Instance]]:
        """Yield the pairs of a map's domain and range points, within a statement's domain."""
        relation = isl.Map.read_from_str(isl.DEFAULT_CONTEXT, text)
        relation = relation.intersect_domain(domain).intersect_params(self.values)
        split = relation.dim(isl.dim_type.in_)
        points: list[Any] = []
        relation.wrap().foreach_point(points.append)
        for point in points:
            count = split + relation.dim(isl.dim_type.out)
            coordinates = tuple(
                int(point.get_coordinate_val(isl.dim_type.set, index).to_python())
                for index in range(count)
            )
            yield coordinates[:split], coordinates[split:]

    def domain(self, statement: Statement) -> Any:
        """Return a statement's instances for the given parameters."""
        domain = isl.Set.read_from_str(isl.DEFAULT_CONTEXT, statement.domain)
        return domain.intersect_params(self.values)

    def instances(self, order: str | None) -> list[tuple[Statement, Instance]]:
        """Return all instances in the order of a schedule."""
        schedule = isl.UnionMap.read_from_str(
            isl.DEFAULT_CONTEXT, self.scop.schedule if order is None else order
        )
        maps: list[Any] = []
        schedule.foreach_map(maps.append)
        by_name = {m.get_tuple_name(isl.dim_type.in_): m for m in maps}
        timed = []
        for number, statement in enumerate(self.scop.statements):
            text = by_name[statement.name].to_str()
            for instance, stamp in self.pairs(text, self.domain(statement)):
                timed.append((stamp, number, instance))
        return [(self.scop.statements[number], instance) for _, number, instance in sorted(timed)]

    def execute(self, order: str | None) -> None:
        """Run every instance."""
        compiled = {}
        for statement in self.scop.statements:
            domain = self.domain(statement)
            run = self.compile_statement(statement, domain)
            compiled[statement.name] = (statement.iterators, run)
        for statement, instance in self.instances(order):
            iterators, run = compiled[statement.name]
            run(instance, dict(zip(iterators, instance, strict=True)))

    def compile_statement(
        self, statement: Statement, domain: Any
    ) -> Callable[[Instance, Environment], None]:
        """Return a function that runs one instance."""
        target = self.arrays[statement.write.array]
        body = statement.body
        if not isinstance(body, Update):
            store = dict(self.pairs(statement.write.relation, domain))
            value = self.compile(body, domain)

            def always(instance: Instance, environment: Environment) -> None:
                target[store[instance]] = value(instance, environment)

            return always
        place = self.compile_place(body, domain)
        value = self.compile(body.value, domain)
        test = None if body.condition is None else self.compile(body.condition, domain)

        def maybe(instance: Instance, environment: Environment) -> None:
            if test is None or test(instance, environment) != 0:
                target[place(instance, environment)] = value(instance, environment)

        return maybe

    def compile(
        self, expression: Expression, domain: Any
    ) -> Callable[[Instance, Environment], Value]:
        """Return a function that evaluates an expression for one instance."""
        match expression:
            case IntegerLiteral(value=value) | FloatLiteral(value=value):
                return lambda instance, environment: value
            case IteratorValue(name=name):
                return lambda instance, environment: environment[name]
            case ParameterValue(name=name):
                parameter = self.parameters[name]
                return lambda instance, environment: parameter
            case Load(access=access):
                return self.compile_load(access, domain)
            case Gather():
                return self.compile_gather(expression, domain)
            case Unary(operator=operator, operand=operand, type=scalar):
                inner = self.compile(operand, domain)
                if operator is UnaryOperator.NEGATE:
                    return lambda i, e: wrap(-inner(i, e), scalar)
                return lambda i, e: wrap(~int(inner(i, e)), scalar)
            case Binary(operator=operator, left=left, right=right, type=scalar):
                first, second = self.compile(left, domain), self.compile(right, domain)
                return lambda i, e: apply(operator, first(i, e), second(i, e), scalar)
            case Comparison(operator=operator, left=left, right=right):
                first, second = self.compile(left, domain), self.compile(right, domain)
                return lambda i, e: int(compare(operator, first(i, e), second(i, e)))
            case Conditional(condition=condition, then=then, otherwise=otherwise):
                test = self.compile(condition, domain)
                yes, no = self.compile(then, domain), self.compile(otherwise, domain)
                return lambda i, e: yes(i, e) if test(i, e) != 0 else no(i, e)
            case Cast(operand=operand, type=scalar):
                inner = self.compile(operand, domain)
                return lambda i, e: cast(inner(i, e), scalar)
            case Call(function=function, arguments=arguments, type=scalar):
                operands = [self.compile(argument, domain) for argument in arguments]
                routine = math_routine(function, scalar)
                return lambda i, e: routine(*[operand(i, e) for operand in operands])
            case Update():
                raise AssertionError("an update is no part of an expression")
            case _:
                assert_never(expression)

    def compile_load(self, access: Access, domain: Any) -> Callable[[Instance, Environment], Value]:
        """Return a function that reads the element an access means for one instance."""
        elements = dict(self.pairs(access.relation, domain))
        array = self.arrays[access.array]
        return lambda instance, environment: array[elements[instance]].item()

    def compile_gather(
        self, gather: Gather, domain: Any
    ) -> Callable[[Instance, Environment], Value]:
        """Return a function that reads an element at computed subscripts, none out of range."""
        place, array = self.compile_place(gather, domain), self.arrays[gather.access.array]
        return lambda instance, environment: array[place(instance, environment)].item()

    def compile_place(
        self, gather: Gather | Update, domain: Any
    ) -> Callable[[Instance, Environment], Instance]:
        """Return a function that computes which element is meant, none out of range."""
        possible: dict[Instance, set[Instance]] = {}
        for instance, element in self.pairs(gather.access.relation, domain):
            possible.setdefault(instance, set()).add(element)
        computed = [self.compile(subscript, domain) for subscript in gather.subscripts]

        def value(instance: Instance, environment: Environment) -> Instance:
            element = list(next(iter(possible[instance])))
            for place, subscript in zip(gather.access.gathered, computed, strict=True):
                element[place] = int(subscript(instance, environment))
            assert tuple(element) in possible[instance], f"{gather.access.text} at {element}"
            return tuple(element)

        return value


def wrap(value: Value, scalar: ScalarType) -> Value:
    """Return a value in a type's range: integers wrap, float rounds to single precision."""
    match scalar:
        case ScalarType.SHORT | ScalarType.INT | ScalarType.LONG:
            half = 1 << (scalar.bits - 1)
            return (int(value) + half) % (2 * half) - half
        case ScalarType.UNSIGNED_BYTE | ScalarType.UNSIGNED:
            return int(value) % (1 << scalar.bits)
        case ScalarType.FLOAT:
            return round_to_float(float(value))
        case ScalarType.HALF | ScalarType.BFLOAT:
            return round_to_type(float(value), scalar)
        case ScalarType.DOUBLE:
            return float(value)
        case _:
            assert_never(scalar)


def round_to_float(value: float) -> float:
    """Round to single precision; too large becomes infinite."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def cast(value: Value, scalar: ScalarType) -> Value:
    """Convert as C does; what does not fit an integer becomes its least value, as on x86."""
    if not scalar.is_integer or isinstance(value, int):
        return wrap(value, scalar)
    half = 1 << (scalar.bits - 1)
    if not math.isfinite(value) or not -half <= math.trunc(value) < half:
        return -half
    return math.trunc(value)


def apply(operator: BinaryOperator, left: Value, right: Value, scalar: ScalarType) -> Value:
    """Return ``left op right`` in a type.

    A float operation computed in double and rounded once is the float operation: 53 bits are at
    least 2 * 24 + 2, so the two roundings together are one.
    """
    match operator:
        case BinaryOperator.ADD:
            return wrap(left + right, scalar)
        case BinaryOperator.SUBTRACT:
            return wrap(left - right, scalar)
        case BinaryOperator.MULTIPLY:
            return wrap(left * right, scalar)
        case BinaryOperator.DIVIDE:
            return wrap(divide(left, right, scalar), scalar)
        case BinaryOperator.REMAINDER:
            return wrap(left - right * divide(left, right, scalar), scalar)
        case BinaryOperator.SHIFT_LEFT:
            return wrap(int(left) << (int(right) % scalar.bits), scalar)
        case BinaryOperator.SHIFT_RIGHT:
            return int(left) >> (int(right) % scalar.bits)
        case BinaryOperator.BIT_AND:
            return int(left) & int(right)
        case BinaryOperator.BIT_OR:
            return int(left) | int(right)
        case BinaryOperator.BIT_XOR:
            return int(left) ^ int(right)
        case _:
            assert_never(operator)


def divide(left: Value, right: Value, scalar: ScalarType) -> Value:
    """Return C's quotient; a floating division by zero is infinite or no number."""
    if scalar.is_integer:
        quotient = abs(int(left)) // abs(int(right))
        return quotient if (left < 0) == (right < 0) else -quotient
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def compare(operator: ComparisonOperator, left: Value, right: Value) -> bool:
    """Return whether ``left op right``."""
    match operator:
        case ComparisonOperator.LESS:
            return left < right
        case ComparisonOperator.LESS_EQUAL:
            return left <= right
        case ComparisonOperator.GREATER:
            return left > right
        case ComparisonOperator.GREATER_EQUAL:
            return left >= right
        case ComparisonOperator.EQUAL:
            return left == right
        case ComparisonOperator.NOT_EQUAL:
            return left != right
        case _:
            assert_never(operator)


def exponential(kind: type[np.float32] | type[np.float64], value: float) -> float:
    """Exp as polygym defines it, by other means: rounding by NumPy, scaling by ldexp."""
    single = kind is np.float32
    least, greatest, terms = (-104.0, 89.0, 7) if single else (-746.0, 710.0, 13)
    if math.isnan(value):
        return value
    x = kind(min(max(value, least), greatest))
    n = np.rint(x * kind(1.4426950408889634))
    parts = (
        ("0x1.62e4p-1", "0x1.7f7d1cp-20")
        if single
        else ("0x1.62e42fefa3p-1", "0x1.3de6af278ece6p-42")
    )
    for part in parts:
        x = kind(x - kind(n * kind(float.fromhex(part))))
    result = kind(1 / math.factorial(terms))
    for k in reversed(range(terms)):
        result = kind(kind(result * x) + kind(1 / math.factorial(k)))
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(result, int(n)))


def math_routine(function: MathFunction, scalar: ScalarType) -> Callable[..., Value]:
    """Return a function of the C library, or the integer absolute value."""
    if function is MathFunction.ABS:
        return lambda value: wrap(abs(value), scalar)
    if function is MathFunction.EXPONENTIAL:
        return partial(exponential, np.float32 if scalar is ScalarType.FLOAT else np.float64)
    if function in (MathFunction.MAXIMUM, MathFunction.MINIMUM):
        numpy_function = np.maximum if function is MathFunction.MAXIMUM else np.minimum
        return lambda *values: float(numpy_function(*values))
    routine = getattr(_LIBM, function.c_name(scalar))
    kind = ctypes.c_float if scalar is ScalarType.FLOAT else ctypes.c_double
    routine.restype = kind
    routine.argtypes = [kind] * function.arity
    return lambda *values: float(routine(*values))
