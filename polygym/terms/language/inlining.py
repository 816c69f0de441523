"""Functions put in where they are called: derivatives need no closures."""

from __future__ import annotations

from typing import Any

from polygym.errors import InputError, LimitError
from polygym.rewrite.term import Term, term
from polygym.terms.language.nodes import is_lam, let, term_facts
from polygym.terms.language.substitution import open_binder, shift_indices
from polygym.terms.language.trampoline import Trampolined, run_trampoline
from polygym.terms.language.types import FunctionType

_MOST = 200_000


def inline_calls(root: Term, name: str) -> Term:
    """Return a term without calls and without names for functions; ``name`` is for errors.

    Raises:
        InputError: which function is called is known only when the term is evaluated.
        LimitError: it would be too large.
    """
    made: Term = run_trampoline(_changed(root, name, {}))
    return made


def _changed(node: Term, name: str, known: dict[Term, Term]) -> Trampolined[Any]:
    if not node.children:
        return node
    if node in known:
        return known[node]
    if term_facts(node).nodes > _MOST:
        raise LimitError(f"{name}: expected at most {_MOST} nodes with functions put in")
    is_named = node.head == "let" and isinstance(term_facts(node.children[0]).type, FunctionType)
    if is_named:
        result = yield _changed(open_binder(node.children[1], node.children[0]), name, known)
    elif node.head == "apply":
        result = yield _called(node.children[0], node.children[1], name, known)
    else:
        parts = []
        for child in node.children:
            parts.append((yield _changed(child, name, known)))
        result = term(node.head, *parts)
    known[node] = result
    return result


def _called(function: Term, argument: Term, name: str, known: dict[Term, Term]) -> Trampolined[Any]:
    """Return a call, with the function's body in its place."""
    if is_lam(function):
        return (yield _changed(let(argument, function.children[0]), name, known))
    if function.head == "let":
        value, body = function.children
        inner = let(value, term("apply", body, shift_indices(argument, 1)))
        return (yield _changed(inner, name, known))
    if function.head == "apply":
        reduced = yield _called(function.children[0], function.children[1], name, known)
        if reduced is not function:
            return (yield _called(reduced, argument, name, known))
    raise InputError(
        f"{name}: expected a function that is known where it is called, found {function.head}"
    )
