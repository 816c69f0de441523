"""What stands at every place of a term, with one name for each binder, to be compared.

What is bound has the number of binders between, so one and the same thing is written differently
at two places, and two things alike. Here every variable has the name of its binder's place instead:
parts are the same term if they are the same thing. What is bound outside of the term has the number
that it has there.

    >>> from polygym.terms.language.parser import parse_program
    >>> root = parse_program("(add (let (a x) (log a)) (let (b y) (log b)))").body
    >>> root.children[0].children[1] is root.children[1].children[1]
    True
    >>> named = subterms_by_position(root)
    >>> named[0, 1] is named[1, 1]
    False
"""

from __future__ import annotations

from polygym.rewrite.term import Term, term
from polygym.terms.language.nodes import binds, index_of, term_facts
from polygym.terms.language.substitution import with_index
from polygym.terms.rewriter import Position


def subterms_by_position(root: Term) -> dict[Position, Term]:
    """Return what stands at each place, in the order of the text, with names for what is bound."""
    nodes: list[tuple[Term, Position, tuple[Term, ...]]] = []
    stack: list[tuple[Term, Position, tuple[Term, ...]]] = [(root, (), ())]
    while stack:
        one, place, scope = stack.pop()
        nodes.append((one, place, scope))
        for at in range(len(one.children) - 1, -1, -1):
            inner = (*scope, term(f"binder {place}")) if binds(one, at) else scope
            stack.append((one.children[at], (*place, at), inner))
    named: dict[Position, Term] = {place: one for one, place, _ in nodes}
    for one, place, scope in reversed(nodes):
        if not scope or not term_facts(one).free:
            continue
        if one.children:
            below = [named[*place, at] for at in range(len(one.children))]
            named[place] = term(one.head, *below)
        else:
            index = index_of(one)
            within = index < len(scope)
            named[place] = scope[-1 - index] if within else with_index(one, index - len(scope))
    return named


def common_length(one: Position, other: Position) -> int:
    """Return how far two places have the same way."""
    length, most = 0, min(len(one), len(other))
    while length < most and one[length] == other[length]:
        length += 1
    return length
