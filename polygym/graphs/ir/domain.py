"""Tensor graphs as a language that :mod:`polygym.rewrite` knows how to rewrite.

Inference is asked for the same node again and again, by every rule that would make it, so answers
are kept.
"""

from functools import lru_cache
from typing import Any

from polygym.graphs.ir import rule_functions
from polygym.graphs.operators.registry import clear_with_registry, infer_node
from polygym.graphs.operators.types import Data, TensorType
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head, Term, postorder


class TensorDomain:
    """The operators of :mod:`polygym.graphs.operators`; implements the protocol of rewriting."""

    def infer(self, head: Head, children: tuple[Any, ...]) -> Data:
        """Return what a node is.

        Raises:
            Inadmissible: there is no such node.
        """
        result = _infer_cached(head, children)
        if isinstance(result, str):
            raise Inadmissible(result)
        return result

    def join(self, one: Data, other: Data) -> Data:
        """Return what equal nodes are: known from weights alone if one of them is.

        Raises:
            Inadmissible: shapes differ, so the rule that made them equal is unsound.
        """
        if one == other:
            return one
        if isinstance(one, TensorType) and isinstance(other, TensorType):
            if one.shape == other.shape and one.dtype == other.dtype:
                return one if one.constant else other
        raise Inadmissible(f"expected equal nodes to have one shape, found {one} and {other}")

    def compute(self, function: str, arguments: tuple[Any, ...]) -> Head:
        """Return the literal of a ``(=function …)``."""
        return rule_functions.compute_literal(function, arguments)

    def holds(self, condition: str, arguments: tuple[Any, ...]) -> bool:
        """Whether a condition holds."""
        return rule_functions.condition_holds(condition, arguments)

    def functions(self) -> dict[str, str]:
        """Return the functions and what they are."""
        return rule_functions.FUNCTION_DOCS

    def conditions(self) -> dict[str, str]:
        """Return the conditions and what they say."""
        return rule_functions.CONDITION_DOCS


TENSOR_DOMAIN = TensorDomain()
"""The one domain of tensor graphs."""


def infer_all(roots: tuple[Term, ...]) -> dict[Term, Data]:
    """Return what every node is.

    Raises:
        Inadmissible: one makes no sense.
    """
    datas: dict[Term, Data] = {}
    for term in postorder(roots):
        datas[term] = TENSOR_DOMAIN.infer(term.head, tuple(datas[child] for child in term.children))
    return datas


@lru_cache(maxsize=1 << 18, typed=True)
def _infer_cached(head: Head, children: tuple[Any, ...]) -> Data | str:
    # 1 and 1.0 are equal, and two heads: so is the cache typed. A refusal is an answer too, kept as
    # its sentence: an exception that is raised again and again grows by a traceback each time.
    try:
        return infer_node(head, children)
    except Inadmissible as error:
        return str(error)


clear_with_registry(_infer_cached.cache_clear)
