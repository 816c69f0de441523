"""Expressions of statements: immutable trees with C's semantics made explicit.

Every node knows its type. The front ends insert a :class:`Cast` wherever C converts implicitly, so
that the two operands of a :class:`Binary` (shifts apart) or :class:`Comparison` have one type and
walking the tree takes no rules of C; nothing is computed in types below INT. Affine
subscripts are not expressions: they belong to the polyhedral part of a program and stand as isl
text in :class:`Access`. Those that are computed when the program runs, as that of X in
``X[I[i]][j]``, are: a :class:`Gather` has them, and an :class:`Update` where they are written to.

The union is closed: match on it exhaustively and end with ``assert_never``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias, assert_never

from polygym.ir.foreign_functions import ForeignFunction
from polygym.ir.types import ScalarType
from polygym.pickling import pickle_by_name


class UnaryOperator(Enum):
    """Operators of one operand; the value is the operator in C."""

    NEGATE = "-"
    BIT_NOT = "~"


class BinaryOperator(Enum):
    """Arithmetic and bit operators; the value is the operator in C.

    ``DIVIDE`` on integers truncates towards zero and ``REMAINDER`` takes the sign of the dividend,
    as in C. ``REMAINDER``, the shifts and the bit operators take integers only.
    """

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"
    SHIFT_LEFT = "<<"
    SHIFT_RIGHT = ">>"
    BIT_AND = "&"
    BIT_OR = "|"
    BIT_XOR = "^"


class ComparisonOperator(Enum):
    """Comparisons; the value is the operator in C."""

    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="


class MathFunction(Enum):
    """The functions of ``math.h`` (and integer ``abs``) that may be called, by their C names.

    The single-precision forms (``sqrtf``) are the same members with type FLOAT. All are pure.
    """

    SQRT = "sqrt"
    CBRT = "cbrt"
    EXP = "exp"
    EXP2 = "exp2"
    EXPM1 = "expm1"
    LOG = "log"
    LOG2 = "log2"
    LOG10 = "log10"
    LOG1P = "log1p"
    POW = "pow"
    HYPOT = "hypot"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    ATAN2 = "atan2"
    SINH = "sinh"
    COSH = "cosh"
    TANH = "tanh"
    ASINH = "asinh"
    ACOSH = "acosh"
    ATANH = "atanh"
    ERF = "erf"
    ERFC = "erfc"
    TGAMMA = "tgamma"
    LGAMMA = "lgamma"
    FABS = "fabs"
    FLOOR = "floor"
    CEIL = "ceil"
    TRUNC = "trunc"
    ROUND = "round"
    RINT = "rint"
    FMOD = "fmod"
    REMAINDER = "remainder"
    FDIM = "fdim"
    LOGB = "logb"
    NEXTAFTER = "nextafter"
    J0 = "j0"
    J1 = "j1"
    Y0 = "y0"
    Y1 = "y1"
    FMIN = "fmin"
    FMAX = "fmax"
    # As IEEE 754 has them: NaN if one argument is (fmin and fmax: the other argument).
    MINIMUM = "polygym_minimum"
    MAXIMUM = "polygym_maximum"
    FMA = "fma"
    COPYSIGN = "copysign"
    ABS = "abs"
    EXPONENTIAL = "polygym_exp"  # exp as polygym computes it: codegen/common/exponential.py
    # What the C library has not: codegen/common/special.
    EXP10 = "polygym_exp10"
    SINPI = "polygym_sinpi"
    COSPI = "polygym_cospi"
    NORMCDF = "polygym_normcdf"
    NORMCDFINV = "polygym_normcdfinv"
    ERFCX = "polygym_erfcx"
    ERFINV = "polygym_erfinv"
    ERFCINV = "polygym_erfcinv"
    BESSEL_I0 = "polygym_cyl_bessel_i0"
    BESSEL_I1 = "polygym_cyl_bessel_i1"

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return 3 if self is MathFunction.FMA else 2 if self.value in _OF_TWO else 1

    def c_name(self, scalar: ScalarType) -> str:
        """Return the C name for a type: ``sqrtf`` for FLOAT, ``labs`` for LONG ABS."""
        match scalar:
            case ScalarType.FLOAT:
                return f"{self.value}f"
            case ScalarType.LONG:
                return f"l{self.value}"
            case _:
                return self.value


_OF_TWO = frozenset(
    "pow hypot atan2 fmod remainder fdim nextafter fmin fmax copysign "
    "polygym_minimum polygym_maximum".split()
)


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Access:
    """One textual access to an array: which element each statement instance touches.

    ``relation`` is isl text of a single-valued map from the statement's instances to the array,
    ``[n] -> { S[i, j] -> A[i, j + 1] }``. Its domain contains every instance that *may* perform the
    access: all instances of the statement, or fewer where an affine condition of a ``?:`` around it
    says so. A scalar has zero dimensions: ``{ S[i] -> s[] }``. ``text`` is what the source said.

    ``gathered`` are the dimensions whose subscript is computed when the program runs. Then the
    relation is a *may*-access: it holds every element that could be meant, the whole array along
    these dimensions. That of ``X[I[i]][j]``, with ``gathered = (0,)``, is
    ``[n, m] -> { S[i, j] -> X[g, j] : 0 <= g < m }``. Only a :class:`Gather` and an :class:`Update`
    have such accesses.
    """

    array: str
    relation: str
    text: str
    gathered: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class IntegerLiteral:
    """An integer constant."""

    value: int
    type: ScalarType = ScalarType.INT


@dataclass(frozen=True, slots=True)
class FloatLiteral:
    """A floating constant; ``value`` is already rounded to ``type``."""

    value: float
    type: ScalarType = ScalarType.DOUBLE


@dataclass(frozen=True, slots=True)
class IteratorValue:
    """The value of a surrounding loop's iterator, by its name in ``Statement.iterators``."""

    name: str
    type: ScalarType = ScalarType.INT


@dataclass(frozen=True, slots=True)
class ParameterValue:
    """The value of one of the program's parameters."""

    name: str
    type: ScalarType = ScalarType.INT


@dataclass(frozen=True, slots=True)
class Load:
    """The value of an array element or scalar."""

    access: Access
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Gather:
    """The value of an array element of which some subscripts are computed: ``X[I[i]][j]``.

    ``subscripts`` are the integers that are computed, one for each of ``access.gathered``, in that
    order. One outside of the array is an error of the program when it runs: nothing is read, and
    the caller of the program is told.
    """

    access: Access
    subscripts: tuple[Expression, ...]
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Unary:
    """``op operand``, of a type that is its own promotion."""

    operator: UnaryOperator
    operand: Expression
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Binary:
    """``left op right``; both operands have ``type``; a shift's right one may be INT or LONG.

    The type is its own promotion: bytes are added as INT.
    """

    operator: BinaryOperator
    left: Expression
    right: Expression
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left op right`` as C's int 0 or 1; both operands have one type."""

    operator: ComparisonOperator
    left: Expression
    right: Expression

    @property
    def type(self) -> ScalarType:
        """Comparisons are int."""
        return ScalarType.INT


@dataclass(frozen=True, slots=True)
class Conditional:
    """``condition ? then : otherwise``: only the chosen arm is evaluated.

    ``a && b`` is ``a ? (b != 0) : 0``, ``a || b`` is ``a ? 1 : (b != 0)``, ``!a`` is ``a == 0``.
    Both arms have ``type``; the condition is of any type and compared with zero.
    """

    condition: Expression
    then: Expression
    otherwise: Expression
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Cast:
    """The operand converted to ``type`` as C does (floating to integer truncates)."""

    operand: Expression
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a pure function, which returns ``type``.

    Of a mathematical one the arguments have that type, too.
    """

    function: MathFunction | ForeignFunction
    arguments: tuple[Expression, ...]
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Update:
    """What an array holds after a store that may not happen, or goes to a computed element.

    It stands at the root of a statement's body, nowhere else. Where ``condition`` is None or not
    zero, ``value`` is stored at the element of the statement's write, whose computed subscripts are
    ``subscripts``, as those of a :class:`Gather`. Otherwise nothing below it but the condition is
    evaluated, and no memory is touched. ``access`` is the statement's write: all elements that it
    does not change keep their values, which is as good as reading them, and makes of a store that
    *may* happen one that always does::

        if (a[i] > 0) b[i + k[i]] = c[i];     b = update(b, a[i] > 0, i + k[i], c[i])
    """

    access: Access
    condition: Expression | None
    subscripts: tuple[Expression, ...]
    value: Expression

    @property
    def type(self) -> ScalarType:
        """The type of what is stored."""
        return self.value.type


Expression: TypeAlias = (
    IntegerLiteral
    | FloatLiteral
    | IteratorValue
    | ParameterValue
    | Load
    | Gather
    | Unary
    | Binary
    | Comparison
    | Conditional
    | Cast
    | Call
    | Update
)


def children(expression: Expression) -> tuple[Expression, ...]:
    """Return the direct operands, in the order of the source."""
    match expression:
        case IntegerLiteral() | FloatLiteral() | IteratorValue() | ParameterValue() | Load():
            return ()
        case Gather(subscripts=subscripts):
            return subscripts
        case Unary(operand=operand) | Cast(operand=operand):
            return (operand,)
        case Binary(left=left, right=right) | Comparison(left=left, right=right):
            return (left, right)
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case Call(arguments=arguments):
            return arguments
        case Update(condition=condition, subscripts=subscripts, value=value):
            return (*(() if condition is None else (condition,)), *subscripts, value)
        case _:
            assert_never(expression)


def map_operands(expression: Expression, new: Callable[[Expression], Expression]) -> Expression:
    """Return an expression with ``new`` applied to its direct operands."""
    match expression:
        case IntegerLiteral() | FloatLiteral() | IteratorValue() | ParameterValue() | Load():
            return expression
        case Gather():
            return replace(expression, subscripts=tuple(map(new, expression.subscripts)))
        case Unary() | Cast():
            return replace(expression, operand=new(expression.operand))
        case Binary() | Comparison():
            return replace(expression, left=new(expression.left), right=new(expression.right))
        case Conditional(condition, then, otherwise, scalar):
            return Conditional(new(condition), new(then), new(otherwise), scalar)
        case Call():
            return replace(expression, arguments=tuple(map(new, expression.arguments)))
        case Update(access, condition, subscripts, value):
            asked = None if condition is None else new(condition)
            return Update(access, asked, tuple(map(new, subscripts)), new(value))
        case _:
            assert_never(expression)


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and everything below it, parents first, left to right."""
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def loaded_accesses(expression: Expression) -> tuple[Access, ...]:
    """Return the accesses that the expression reads, in the order of the source, repeats kept.

    What the subscripts of a gather read comes after the gather itself, and what an update reads
    after what it keeps.
    """
    return tuple(
        node.access for node in walk(expression) if isinstance(node, Load | Gather | Update)
    )
