"""Calls of the user's own functions: inlined where the body is one ``return`` of an expression.

``static int clamp(int x, int n) { return x < 0 ? 0 : x < n ? x : n - 1; }`` is a macro with
types: a call is the body with the arguments, each converted to its parameter's type, in place of
the names. The language of the region has no side effects in expressions, so that evaluating an
argument several times or not at all makes no difference. Any other function may have effects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.sema.bindings import AliasBinding, Bindings, ExpressionEnvironment
from polygym.frontend.c.sema.symbols import Symbol, resolve_function

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
            raise source.error(call, "a call through a pointer is not understood")
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
            scalar = declarations.scalar(
                symbol.declaration.type, call, f"the argument {symbol.name} of {name}"
            )
            arguments[symbol] = AliasBinding(operand, scalar, environment)
        inner = replace(
            environment, arguments=arguments, calls=(*environment.calls, name), cache={}
        )
        result = declarations.scalar(function.decl.type.type, call, f"the result of {name}")
        return AliasBinding(body, result, inner)


def argument_count_message(name: str, expected: int, found: int) -> str:
    """Return the sentence that refuses a call with too many or too few arguments."""
    return f"{name} takes {expected} argument{'s' * (expected != 1)} and is given {found}"
