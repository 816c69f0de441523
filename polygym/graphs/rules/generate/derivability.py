"""Derivability of a rule from others: both sides become one class of an e-graph.

Many equations are looked at together, in one e-graph, since their terms have parts in common.
"""

from collections.abc import Sequence

from polygym.graphs.ir.build import make_node
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.operators.types import Data, NumberData, TensorType, TextData, shape_text
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.egraph import CycleFilter, EGraph, SaturationLimits, saturate
from polygym.rewrite.rule import Rule
from polygym.rewrite.term import Term, rebuild, substitute, term

_ITERATIONS = 5


def instantiate(root: Term, binding: dict[str, Data]) -> Term:
    """Return a pattern with inputs and weights of certain shapes for its variables."""
    values: dict[str, Term] = {}
    for name, data in binding.items():
        if isinstance(data, TensorType):
            dtype = "" if data.dtype == "float32" else f":{data.dtype}"
            head = "weight" if data.constant else "input"
            values[name] = make_node(head, f"{name[1:]}@{shape_text(data.shape)}{dtype}")
        elif isinstance(data, NumberData | TextData):
            values[name] = term(data.value)
        else:
            raise Inadmissible(f"expected a tensor or a literal for {name}, found {data}")
    whole = substitute(root, values)
    return compute_literals(whole)


def compute_literals(root: Term) -> Term:
    """Return a term with its computed literals computed.

    Raises:
        Inadmissible: one cannot be, or a node makes no sense.
    """
    data: dict[Term, Data] = {}

    def change(one: Term, children: tuple[Term, ...]) -> Term:
        arguments = tuple(data[child] for child in children)
        if children and isinstance(one.head, str) and one.head.startswith("="):
            made = term(TENSOR_DOMAIN.compute(one.head[1:], arguments))
            data[made] = TENSOR_DOMAIN.infer(made.head, ())
        else:
            made = term(one.head, *children)
            data[made] = TENSOR_DOMAIN.infer(made.head, arguments)
        return made

    return rebuild(root, change)


def are_underivable(
    equations: Sequence[tuple[Term, Term]], rules: Sequence[Rule], nodes: int = 40_000
) -> list[bool]:
    """Return of each equation between terms without variables whether rules do not show it."""
    graph = EGraph(TENSOR_DOMAIN)
    sides = [(graph.add_term(left), graph.add_term(right)) for left, right in equations]
    limits = SaturationLimits(
        nodes=max(nodes, 4 * graph.node_count), iterations=_ITERATIONS, k_multi=0
    )
    saturate(graph, [rule for rule in rules if not rule.is_multiple], limits, CycleFilter.NONE)
    return [graph.find(left) != graph.find(right) for left, right in sides]


def is_derivable(left: Term, right: Term, rules: Sequence[Rule]) -> bool:
    """Whether rules show that two terms without variables are equal."""
    return not are_underivable([(left, right)], rules)[0]
