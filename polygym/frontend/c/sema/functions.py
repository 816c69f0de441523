"""Functions that are called: those of the file, the C library's, and those declared as pure.

``static int clamp(int x, int n) { return x < 0 ? 0 : x < n ? x : n - 1; }`` is a macro with types:
a call is the body with the arguments, each converted to its parameter's type, in place of the
names. Expressions of a region have no side effects, so an argument may be evaluated several times
or not at all. A function whose body is more than one ``return`` may have effects.

``double f(double, int) __attribute__((const));`` says what f takes and returns, and that it does
nothing else. Its code is in the library that is named beside the file; without one, or if it is not
declared as pure, a call is refused. ``pure`` and ``const`` are taken to be the same: a function is
given numbers, and sees none of the region's memory. Functions of the C library with a number of
another type are known: ``ldexp``, ``lround``, ``toupper``.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.sema.bindings import AliasBinding, Bindings, ExpressionEnvironment
from polygym.frontend.c.sema.symbols import Symbol, resolve_function
from polygym.ir.foreign_functions import ForeignFunction
from polygym.ir.types import ScalarType

_MAX_CALL_DEPTH = 50


class ExpressionInliner:
    """Inlines calls."""

    def __init__(self, bindings: Bindings) -> None:
        """Keep the bindings, whose names know the functions of the file."""
        self._bindings = bindings
        self._resolved: dict[str, Mapping[str, Symbol]] = {}

    def inlined_expression(
        self, call: Any, environment: ExpressionEnvironment
    ) -> AliasBinding | None:
        """Return what a call stands for, None if the file does not define the function."""
        source = self._bindings.source
        if not isinstance(call.name, c_ast.ID):
            raise source.error(call, "a call through a pointer is not supported")
        name = call.name.name
        function = self._bindings.names.functions.get(name)
        if function is None:
            return None
        if name in environment.calls or len(environment.calls) > _MAX_CALL_DEPTH:
            raise source.error(call, f"{name} calls itself")
        body = function.body.block_items or []
        if len(body) != 1 or not isinstance(body[0], c_ast.Return) or body[0].expr is None:
            raise source.error(
                call,
                f"the call of {name} may have side effects",
                "call it as a statement, or assign its value to a variable",
            )
        return self._bind(call, function, body[0].expr, environment)

    def _bind(
        self, call: Any, function: Any, body: Any, environment: ExpressionEnvironment
    ) -> AliasBinding:
        """Bind the arguments of a call."""
        source, declarations = self._bindings.source, self._bindings.declarations
        name = function.decl.name
        if name not in self._resolved:
            self._resolved[name] = resolve_function(self._bindings.names, function)
        symbols = list(self._resolved[name].values())
        operands = list(call.args.exprs) if call.args else []
        if len(symbols) != len(operands):
            raise source.error(call, argument_count_message(name, len(symbols), len(operands)))
        arguments = dict(environment.arguments)
        for symbol, operand in zip(symbols, operands, strict=True):
            subject = f"the argument {symbol.name} of {name}"
            scalar = declarations.scalar(symbol.declaration.type, call, subject)
            arguments[symbol] = AliasBinding(operand, scalar, environment)
        calls = (*environment.calls, name)
        inner = replace(environment, arguments=arguments, calls=calls, cache={})
        result = declarations.scalar(function.decl.type.type, call, f"the result of {name}")
        return AliasBinding(body, result, inner)


def argument_count_message(name: str, expected: int, given: int) -> str:
    """Return the sentence that refuses a call with too many or too few arguments."""
    return f"{name} takes {expected} argument{'s' * (expected != 1)} and is given {given}"


_INT, _LONG = ScalarType.INT, ScalarType.LONG
_FLOAT, _DOUBLE = ScalarType.FLOAT, ScalarType.DOUBLE
# Those that are computed with in their own type: calls convert to others and from them.
_PASSABLE_TYPES = frozenset(
    {_INT, _LONG, _FLOAT, _DOUBLE, ScalarType.UNSIGNED, ScalarType.UNSIGNED_LONG}
)

_FLOAT_AND_DOUBLE_FUNCTIONS = {
    "ldexp": (None, (None, _INT)),
    "scalbn": (None, (None, _INT)),
    "scalbln": (None, (None, _LONG)),
    "nearbyint": (None, (None,)),
    "ilogb": (_INT, (None,)),
    "lround": (_LONG, (None,)),
    "llround": (_LONG, (None,)),
    "lrint": (_LONG, (None,)),
    "llrint": (_LONG, (None,)),
    "jn": (None, (_INT, None)),
    "yn": (None, (_INT, None)),
}
# What the C library has: what a function returns, and what it takes.
LIBRARY_FUNCTIONS: dict[str, tuple[ScalarType, tuple[ScalarType, ...]]] = {
    "toupper": (_INT, (_INT,)),
    "tolower": (_INT, (_INT,)),
} | {
    name + suffix: (result or scalar, tuple(argument_type or scalar for argument_type in takes))
    for name, (result, takes) in _FLOAT_AND_DOUBLE_FUNCTIONS.items()
    for scalar, suffix in ((_DOUBLE, ""), (_FLOAT, "f"))
}


class PrototypeReader:
    """Reads declarations of functions without a body."""

    def __init__(self, bindings: Bindings) -> None:
        """Keep what names stand for."""
        self._bindings = bindings

    def foreign_function(self, call: Any, name: str) -> tuple[ForeignFunction, ScalarType]:
        """Return the function that a call means by a name, and the type of what it returns."""
        source = self._bindings.source
        if reason := source.reason(name):
            raise source.error(call, reason)
        if name in LIBRARY_FUNCTIONS:
            result, takes = LIBRARY_FUNCTIONS[name]
            return ForeignFunction(name, takes), result
        declared = self._bindings.names.prototypes.get(name)
        if declared is None or name not in source.pure:
            raise source.error(
                call,
                f"{name} has no body here, and is not declared as one without effects",
                f"write the body of {name} into the file or include it; or declare it as pure, "
                f"double {name}(double) __attribute__((const)), and say which library has it: "
                f"--link lib{name}.so; what math.h has is known",
            )
        if source.library is None:
            raise source.error(
                call,
                f"{name} has no body here, and no library is named that has its code",
                f"build one and name it, cc -shared -fPIC {name}.c -o lib{name}.so, then --link "
                f"lib{name}.so; or write the body of {name} into the file, or include it",
            )
        result, takes = self._types(declared, call)
        path, digest = source.library
        return ForeignFunction(name, takes, path, digest), result

    def _types(self, declared: Any, call: Any) -> tuple[ScalarType, tuple[ScalarType, ...]]:
        """Return what a function returns and takes."""
        name, source = declared.name, self._bindings.source
        kind = declared.type
        given = list(kind.args.params) if kind.args else []
        if any(isinstance(item, c_ast.EllipsisParam | c_ast.ID) for item in given) or not kind.args:
            raise source.error(
                call, f"{name} is declared without the types of all of its arguments"
            )
        if len(given) == 1 and _is_void(given[0].type):
            given = []
        read = self._bindings.declarations.scalar
        types = [read(parameter.type, call, f"an argument of {name}") for parameter in given]
        result = read(kind.type, call, f"what {name} returns")
        for scalar_type in (result, *types):
            if scalar_type not in _PASSABLE_TYPES:
                raise source.error(
                    call,
                    f"{name} takes or returns {scalar_type.value}: int, unsigned, long, unsigned "
                    "long, "
                    "float and double can be handed over",
                )
        return result, tuple(types)


def _is_void(kind: Any) -> bool:
    return getattr(getattr(kind, "type", None), "names", None) == ["void"]
