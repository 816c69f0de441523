"""Rewriting of code of C++, token by token: what all rewriters share."""

from abc import ABC, abstractmethod

from polygym.frontend.c.source.cpp.context import CppContext, FunctionNames
from polygym.frontend.c.source.cpp.tokens import words_like
from polygym.frontend.c.tokens.origins import RawToken


class CodeRewriter(ABC):
    """Rewrites one range of tokens."""

    def __init__(self, context: CppContext, function: FunctionNames) -> None:
        """Start with the names that the head of the function declares."""
        self._context, self._tokens = context, context.tokens
        self._names = function
        self._out: list[RawToken] = []
        self._begin = -1

    def declared(self, first: int, last: int) -> list[RawToken]:
        """Return the tokens of a declaration at file scope in C."""
        self._begin = first
        return self.rewritten(first, last)

    def rewritten(self, first: int, last: int) -> list[RawToken]:
        """Return the tokens of a range in C."""
        outer, self._out = self._out, []
        index = first
        while index < last:
            index = self._step(index, last)
        result, self._out = self._out, outer
        return result

    def _text(self, index: int) -> str:
        return self._tokens.text(index)

    def _emit(self, text: str, index: int) -> None:
        self._out += words_like(text, self._tokens.stream[index])

    def _in_parentheses(self, text: str, first: int, last: int, like: int) -> None:
        """Emit ``((text)(…))``, or ``(text(…))`` where the text ends in no type."""
        self._emit(f"( {text} (", like)
        self._out += self.rewritten(first, last)
        self._emit(") )", like)

    def _problem(self, index: int, message: str, hint: str = "") -> int:
        self._context.refuse(index, message, hint)
        self._out.append(self._tokens.stream[index])
        return index + 1

    @abstractmethod
    def _step(self, index: int, last: int) -> int:
        """Rewrite what begins at a token, and return the index behind it."""
