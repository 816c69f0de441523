"""An independent check: equality saturation, and extraction that charges what is shared once.

For terms of arithmetic alone (Floats, nothing that binds): the rules of Table 3 of the Knossos
paper go into an e-graph, all of them at once and in no order, and of all terms that are then equal
the one is extracted whose *different* nodes cost least. :func:`bound_once` makes a term of it in
which what is used several times stands in a ``let``. Nothing of the searches of
:mod:`polygym.search.planning` is used: so it says how good these are.

A ``let`` costs 0.1, which extraction does not count: what it finds may be dearer by tenths than the
best.

No derivation comes of it. What stands for one is that both terms are in one class of the e-graph
which the rules lead to from the first (:func:`is_reached`): whoever has the rules can make it anew.
Names that a term binds, and rules of binding, have no place in it: ``let`` is written out before,
and rules with binders or with conditions other than of type are left out (:func:`usable`).
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
from polygym.terms.language.substitution import opened, shifted
from polygym.terms.language.types import FLOAT
from polygym.terms.rules.pattern import Literal, Meta, Node, Pattern, text_of_pattern
from polygym.terms.rules.rule import Rewriting
from polygym.terms.rules.rule import Rule as AnyRule
from polygym.terms.rules.sets import rules_named

__all__ = ["LIMITS", "Saturated", "bound_once", "is_reached", "saturated", "usable", "written_out"]

_OPERATORS = ("add", "sub", "mul", "div", "neg", "exp", "log", "sqrt", "sin", "cos", "tanh")
_OF_FLOATS = ("float", "data")
LIMITS = Limits(nodes=600, iterations=10)
"""How far an e-graph grows if nothing else is said."""


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

    The term itself is found again where nothing is cheaper.

    Raises:
        InputError: the term is not of arithmetic alone.
    """
    flat = written_out(root)
    graph, name, is_complete = _grown(flat, rules, limits)
    chosen = ilp(graph, name, _price, seconds=seconds)
    cost = StaticCost()
    made = min((bound_once(chosen.term), root), key=cost)
    return Saturated(made, cost(made), chosen.bound, graph.node_count, is_complete)


def is_reached(
    root: Term,
    other: Term,
    rules: Sequence[AnyRule] | None = None,
    limits: Limits | None = None,
) -> bool:
    """Whether saturation finds that two terms are equal.

    >>> from polygym.terms.language.reading import parse_program
    >>> one, two, three = (
    ...     parse_program(text).body
    ...     for text in ("(div (mul x y) x)", "(mul (div x x) y)", "(mul x y)")
    ... )
    >>> is_reached(one, two), is_reached(one, three)
    (True, False)
    """
    graph, name, _ = _grown(written_out(root), rules, limits)
    found = graph.add_term(written_out(other))
    graph.rebuild()
    return graph.find(found) == graph.find(name)


def _grown(
    root: Term, rules: Sequence[AnyRule] | None, limits: Limits | None
) -> tuple[EGraph, int, bool]:
    """Return the e-graph of a term, the term's class, and whether nothing more is to be found."""
    for one in postorder([root]):
        if facts(one).type != FLOAT or (one.children and one.head not in _OPERATORS):
            raise InputError(
                f"saturation: expected Floats under {', '.join(_OPERATORS)}, found {one.head}"
            )
    graph = EGraph(Plain())
    name = graph.add_term(root)
    patterns = _patterns(usable(rules_named("arithmetic") if rules is None else rules))
    found = saturate(graph, patterns, limits or LIMITS)
    return graph, name, found.stop.value == "saturated"


def written_out(root: Term) -> Term:
    """Return a term with the values of all ``let``s in the places of their variables.

    Equal parts are one object, so that nothing grows.
    """
    made: dict[Term, Term] = {}
    stack = [root]
    while stack:
        one = stack[-1]
        if one in made:
            stack.pop()
            continue
        if one.head == "let":
            value, body = one.children
            if value not in made:
                stack.append(value)
                continue
            inner = opened(body, made[value])
            if inner not in made:
                stack.append(inner)
                continue
            made[one] = made[inner]
        else:
            missing = [child for child in one.children if child not in made]
            if missing:
                stack.extend(missing)
                continue
            made[one] = term(one.head, *(made[child] for child in one.children))
        stack.pop()
    return made[root]


def usable(rules: Sequence[AnyRule]) -> tuple[Rewriting, ...]:
    """Return the rules that say something of Floats without binders."""
    return tuple(
        rule
        for rule in rules
        if isinstance(rule, Rewriting)
        and all(condition.word in _OF_FLOATS for condition in rule.conditions)
        and _is_plain(rule.source)
        and _is_plain(rule.target)
    )


def _is_plain(pattern: Pattern) -> bool:
    match pattern:
        case Node(head, children):
            return head in _OPERATORS and all(map(_is_plain, children))
        case Literal(one):
            return facts(one).type == FLOAT
        case Meta():
            return True
        case _:
            return False


def _price(head: Head, children: tuple[object, ...], data: object) -> float:
    return OF_OPERATORS.get(str(head), 0.0) if children else 0.0


def _patterns(rules: Sequence[Rewriting]) -> list[Rule]:
    """Return the rules of arithmetic as those of :mod:`polygym.rewrite`; all is Float here."""
    lines = [
        f"{rule.name}: {text_of_pattern(rule.source)} => {text_of_pattern(rule.target)}"
        for rule in rules
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
