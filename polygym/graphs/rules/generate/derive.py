"""What follows from rules already: both sides become one class of an e-graph, in a few iterations.

Many equations are looked at together, in one e-graph, since their terms have parts in common.
"""

from __future__ import annotations

from collections.abc import Sequence

from polygym.graphs.ir.build import node
from polygym.graphs.ir.domain import TENSORS
from polygym.graphs.ir.types import Data, Number, Tensor, Text, shape_text
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.egraph import CycleFilter, EGraph, Limits, saturate
from polygym.rewrite.rule import Rule
from polygym.rewrite.term import Term, rebuilt, substituted, term

__all__ = ["concrete", "is_derivable", "underivable"]

_ITERATIONS = 5


def concrete(root: Term, binding: dict[str, Data]) -> Term:
    """Return a pattern with inputs and weights of certain shapes for its variables."""
    values: dict[str, Term] = {}
    for name, data in binding.items():
        if isinstance(data, Tensor):
            dtype = "" if data.dtype == "float32" else f":{data.dtype}"
            head = "weight" if data.constant else "input"
            values[name] = node(head, f"{name[1:]}@{shape_text(data.shape)}{dtype}")
        elif isinstance(data, Number | Text):
            values[name] = term(data.value)
        else:
            raise Inadmissible(f"expected a tensor or a literal for {name}, found {data}")
    whole = substituted(root, values)
    return computed(whole)


def computed(root: Term) -> Term:
    """Return a term with its computed literals computed.

    Raises:
        Inadmissible: one cannot be, or a node makes no sense.
    """
    data: dict[Term, Data] = {}

    def change(one: Term, children: tuple[Term, ...]) -> Term:
        arguments = tuple(data[child] for child in children)
        if children and isinstance(one.head, str) and one.head.startswith("="):
            made = term(TENSORS.compute(one.head[1:], arguments))
            data[made] = TENSORS.infer(made.head, ())
        else:
            made = term(one.head, *children)
            data[made] = TENSORS.infer(made.head, arguments)
        return made

    return rebuilt(root, change)


def underivable(
    equations: Sequence[tuple[Term, Term]], rules: Sequence[Rule], nodes: int = 40_000
) -> list[bool]:
    """Return of each equation between terms without variables whether rules do not show it."""
    graph = EGraph(TENSORS)
    sides = [(graph.add_term(left), graph.add_term(right)) for left, right in equations]
    limits = Limits(nodes=max(nodes, 4 * graph.node_count), iterations=_ITERATIONS, k_multi=0)
    saturate(graph, [rule for rule in rules if not rule.is_multiple], limits, CycleFilter.NONE)
    return [graph.find(left) != graph.find(right) for left, right in sides]


def is_derivable(left: Term, right: Term, rules: Sequence[Rule]) -> bool:
    """Whether rules show that two terms without variables are equal."""
    return not underivable([(left, right)], rules)[0]
