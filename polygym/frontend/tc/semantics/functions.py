"""The functions that a comprehension may call: C's mathematical ones, CUDA's, min, max and abs.

``sqrt`` takes the type of its argument; ``sqrtf`` is float, whatever it is given. ``max`` and
``min`` work on integers too; on floating numbers they are NaN if one argument is, as PyTorch's and
NumPy's are, while C's ``fmax`` and ``fmin`` are the other argument. ``exp`` is polygym's own
(:mod:`polygym.codegen.common.exponential`), which has a form for vectors; so is what the C library
has not, ``erfinv`` and the like (:mod:`polygym.codegen.common.special_functions`). Others are made
of several (``compositions``).

Compositions: rsqrt(x) is 1 / sqrt(x), norm3d(a, b, c) is two times hypot. Each uses every argument
once. Single precision is computed in double and rounded, but for rsqrt and fdivide, which run in
vectors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from polygym.ir import expressions as ir
from polygym.ir.expressions import Expression, MathFunction
from polygym.ir.types import ScalarType

CompositionBody = Callable[[Sequence[Expression], ScalarType], Expression]


@dataclass(frozen=True, slots=True)
class FunctionComposition:
    """A function of so many arguments; ``is_double`` says that it is computed in double."""

    arity: int
    body: CompositionBody
    is_double: bool = True

    def expand(self, arguments: Sequence[Expression], own: ScalarType) -> Expression:
        """Return the value for arguments of a type, in this type."""
        if not self.is_double or own is ScalarType.DOUBLE:
            return self.body(arguments, own)
        wide = [ir.Cast(expression, ScalarType.DOUBLE) for expression in arguments]
        return ir.Cast(self.body(wide, ScalarType.DOUBLE), own)


def _called(function: MathFunction) -> CompositionBody:
    return lambda arguments, own: ir.Call(function, tuple(arguments), own)


def _inverse(body: CompositionBody) -> CompositionBody:
    def found(arguments: Sequence[Expression], own: ScalarType) -> Expression:
        literal = ir.FloatLiteral(1.0, own)
        return ir.Binary(ir.BinaryOperator.DIVIDE, literal, body(arguments, own), own)

    return found


def _norm(arguments: Sequence[Expression], own: ScalarType) -> Expression:
    """Return the root of the sum of squares, in pairs."""
    if len(arguments) == 1:
        return arguments[0]
    half = (len(arguments) + 1) // 2
    parts = (_norm(arguments[:half], own), _norm(arguments[half:], own))
    return ir.Call(MathFunction.HYPOT, parts, own)


def _quotient(arguments: Sequence[Expression], own: ScalarType) -> Expression:
    first, second = arguments
    return ir.Binary(ir.BinaryOperator.DIVIDE, first, second, own)


COMPOSITIONS = {
    "rsqrt": FunctionComposition(1, _inverse(_called(MathFunction.SQRT)), is_double=False),
    "rcbrt": FunctionComposition(1, _inverse(_called(MathFunction.CBRT))),
    "rhypot": FunctionComposition(2, _inverse(_norm)),
    "norm3d": FunctionComposition(3, _norm),
    "norm4d": FunctionComposition(4, _norm),
    "rnorm3d": FunctionComposition(3, _inverse(_norm)),
    "rnorm4d": FunctionComposition(4, _inverse(_norm)),
    "fdivide": FunctionComposition(2, _quotient, is_double=False),
    **{
        literal.value: FunctionComposition(1, _called(literal))
        for literal in (MathFunction.J0, MathFunction.J1, MathFunction.Y0, MathFunction.Y1)
    },
}


MIN_MAX = {"max": MathFunction.MAXIMUM, "min": MathFunction.MINIMUM}

MIN_MAX_FUNCTIONS = (*MIN_MAX.values(), MathFunction.FMAX, MathFunction.FMIN)
"""Functions that return one of their arguments, in its type."""

INDEX_NAMES = frozenset({"j0", "j1", "y0", "y1"})
"""Functions that are called as indices often are: without ( behind them they are indices."""


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """A function; ``result_type`` is the type its name demands, None where arguments decide.

    ``is_integer`` says that it takes integers as they are.
    """

    function: MathFunction | FunctionComposition
    result_type: ScalarType | None
    is_integer: bool

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return self.function.arity


def function_named(name: str) -> FunctionSignature | None:
    """Return the function of a name, None if there is none.

    >>> function_named("fmaxf").result_type
    <ScalarType.FLOAT: 'float'>
    """
    if name in MIN_MAX:
        return FunctionSignature(MIN_MAX[name], None, is_integer=True)
    if name == "abs":
        return FunctionSignature(MathFunction.FABS, None, is_integer=True)
    if name in _BY_NAME:
        return FunctionSignature(_BY_NAME[name], None, is_integer=False)
    if name.endswith("f") and name[:-1] in _BY_NAME:
        return FunctionSignature(_BY_NAME[name[:-1]], ScalarType.FLOAT, is_integer=False)
    return None


_OWN_PREFIX = "polygym_"
_BY_NAME: dict[str, MathFunction | FunctionComposition] = {
    **{
        math_function.value.removeprefix(_OWN_PREFIX): math_function
        for math_function in MathFunction
        if math_function not in (MathFunction.ABS, MathFunction.EXP)
    },
    **COMPOSITIONS,
}

_TRUTH = {"true": 1, "false": 0}

# What other libraries call functions, types and constants.
_SPELLINGS = {
    "relu": "relu(x) is max(x, 0)",
    "sigmoid": "sigmoid(x) is 1 / (1 + exp(-x))",
    "silu": "silu(x) is x / (1 + exp(-x))",
    "gelu": "gelu(x) is x * normcdf(x)",
    "softplus": "softplus(x) is log1p(exp(x))",
    "sign": "the sign of x is (x > 0) - (x < 0)",
    "half": "half precision is float16",
    "long": "this type is int64",
    "inf": "infinity is INFINITY",
    "infinity": "infinity is INFINITY",
    "power": "a power is pow(x, y)",
    "maximum": "the larger of two is max(x, y)",
    "minimum": "the smaller of two is min(x, y)",
}


def name_suggestion(name: str, tensors: list[str]) -> str:
    """Return a suggestion for a name that is neither a tensor nor a function, "" without one."""
    if name.lower() in _TRUTH:
        return f"a truth value is {_TRUTH[name.lower()]}"
    if name.lower() in _SPELLINGS:
        return _SPELLINGS[name.lower()]
    close = get_close_matches(name, [*tensors, *_BY_NAME, *MIN_MAX, "abs"], 1)
    return f"did you mean {close[0]}?" if close else ""
