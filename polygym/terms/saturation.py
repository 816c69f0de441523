"""An independent check: equality saturation, and extraction that charges what is shared once.

For terms of arithmetic alone (Floats, nothing that binds): the rules of Table 3 of the Knossos
paper go into an e-graph, all of them at once and in no order, and of all terms that are then equal
the one is extracted whose *different* nodes cost least. :func:`bound_once` makes a term of it in
which what is used several times stands in a ``let``. No derivation comes of it, and nothing of the
searches of :mod:`polygym.search.planning` is used: so it says how good these are.

A ``let`` costs 0.1, which extraction does not count: what it finds may be dearer by tenths than the
best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polygym.errors import InputError
from polygym.rewrite.egraph import EGraph, Limits, saturate
from polygym.rewrite.extraction import ilp
from polygym.rewrite.plain import Plain
from polygym.rewrite.rule import Rule
from polygym.rewrite.rule import parse_rules as parse_patterns
from polygym.rewrite.term import Head, Term, postorder, term
from polygym.terms.cost import OF_OPERATORS, StaticCost
from polygym.terms.language.nodes import bound, facts, let
from polygym.terms.language.substitution import shifted
from polygym.terms.language.types import FLOAT
from polygym.terms.rules.pattern import text_of_pattern
from polygym.terms.rules.rule import Rewriting
from polygym.terms.rules.rule import Rule as AnyRule
from polygym.terms.rules.sets import rules_named

__all__ = ["Saturated", "bound_once", "saturated"]

_OPERATORS = ("add", "sub", "mul", "div", "neg", "exp", "log", "sqrt", "sin", "cos", "tanh")


@dataclass(frozen=True, slots=True)
class Saturated:
    """The term that was extracted, with ``let`` for what is shared; what it costs.

    ``least`` is what no term of the e-graph is cheaper than, ``is_complete`` whether the e-graph
    has every term that the rules lead to.
    """

    term: Term
    cost: float
    least: float
    nodes: int
    is_complete: bool


def saturated(
    root: Term,
    rules: Sequence[AnyRule] | None = None,
    limits: Limits | None = None,
    seconds: float = 30.0,
) -> Saturated:
    """Return the cheapest term that equality saturation finds, by the rules of arithmetic.

    Raises:
        InputError: the term is not of arithmetic alone.
    """
    for one in postorder([root]):
        if facts(one).type != FLOAT or (one.children and one.head not in _OPERATORS):
            raise InputError(
                f"saturation: expected Floats under {', '.join(_OPERATORS)}, found {one.head}"
            )
    graph = EGraph(Plain())
    name = graph.add_term(root)
    patterns = _patterns(rules_named("arithmetic") if rules is None else rules)
    found = saturate(graph, patterns, limits or Limits(nodes=600, iterations=10))
    chosen = ilp(graph, name, _price, seconds=seconds)
    made = bound_once(chosen.term)
    return Saturated(
        made,
        StaticCost()(made),
        chosen.bound,
        graph.node_count,
        found.stop.value == "saturated",
    )


def _price(head: Head, children: tuple[object, ...], data: object) -> float:
    return OF_OPERATORS.get(str(head), 0.0) if children else 0.0


def _patterns(rules: Sequence[AnyRule]) -> list[Rule]:
    """Return the rules of arithmetic as those of :mod:`polygym.rewrite`; all is Float here."""
    lines = [
        f"{rule.name}: {text_of_pattern(rule.source)} => {text_of_pattern(rule.target)}"
        for rule in rules
        if isinstance(rule, Rewriting)
    ]
    return parse_patterns("\n".join(lines))


def bound_once(root: Term) -> Term:
    """Return a term without binders with a ``let`` around it for every part that is used twice.

    Parts within such a part are bound outside of it, so that all of it is there once.

    >>> from polygym.terms.language.printing import text_of
    >>> from polygym.terms.language.reading import parse_program
    >>> text_of(bound_once(parse_program("(mul (add x (log y)) (add x (log y)))").body))
    '(let (t1 (add x (log y))) (mul t1 t1))'
    """
    order = list(postorder([root]))
    uses: dict[Term, int] = {}
    for one in order:
        for child in one.children:
            uses[child] = uses.get(child, 0) + 1
    shared = [one for one in order if one.children and uses.get(one, 0) > 1]
    places = {one: place for place, one in enumerate(shared)}

    def written(top: Term, binders: int) -> Term:
        """Return a part where so many of the shared ones are bound around it."""
        made: dict[Term, Term] = {}
        for one in postorder([top]):
            place = places.get(one, binders)
            if place < binders and one is not top:
                made[one] = bound(binders - 1 - place, facts(one).type)
            elif one.children:
                made[one] = term(one.head, *(made[child] for child in one.children))
            else:
                made[one] = shifted(one, 0)
        return made[top]

    result = written(root, len(shared))
    for place in range(len(shared) - 1, -1, -1):
        result = let(written(shared[place], place), result)
    return result
