"""Rules of loops that no pattern can say: a part of the body is computed before the loop.

``(loop n (lam x b))`` → ``(loop n (lam x b'))``, b' being b with ``(index x (build n (lam x e)))``
for a part e, where b needs e in every turn. By itself that gains nothing: but the vector has no x,
and may be the same as one elsewhere, or need not be made again in each turn of the loops around.
Tiling splits a loop of a size that is known: n = m · k. What ``build`` makes in blocks is read from
them again.

    (sumbuild n (lam x b)) → (sumbuild m (lam y (sumbuild k (lam z b[x := k · y + z]))))
"""

from collections.abc import Iterator

from polygym.rewrite.term import Term, postorder, term
from polygym.terms.cost import StaticCost
from polygym.terms.language.nodes import bound, is_lam, lam, term_facts
from polygym.terms.language.substitution import (
    open_binder,
    shift_indices,
    substitute,
    with_index,
)
from polygym.terms.language.types import INTEGER, BaseType, VectorType, is_data
from polygym.terms.rules.rule_types import is_needed

_LEAST_COST = 2.0
_LOOPS = ("build", "sumbuild")


def tabulations(loop: Term) -> Iterator[Term]:
    """Yield a loop with one part of its body computed beforehand, every one that pays."""
    size, function = loop.children
    if not is_lam(function):
        return
    body, cost = function.children[0], StaticCost()
    for part in postorder([body]):
        facts = term_facts(part)
        if not facts.free & 1 or part.head == "index" or not is_data(facts.type):
            continue
        if part is body and loop.head == "build":
            continue
        if not isinstance(facts.type, BaseType | VectorType) or cost(part) < _LEAST_COST:
            continue
        marker = bound(0, facts.type)
        opened = _replaced(shift_indices(body, 1), shift_indices(part, 1), marker)
        if opened is None or not is_needed(opened, 0):
            continue
        table = term("build", size, lam(INTEGER, part))
        value = term("index", bound(0, INTEGER), shift_indices(table, 1))
        yield term(loop.head, size, lam(INTEGER, open_binder(opened, value)))


def _replaced(root: Term, part: Term, other: Term) -> Term | None:
    """Return a term with another part, wherever that stands outside of inner loops' bodies."""
    made: dict[Term, Term] = {}
    for node in postorder([root]):
        if node is part:
            made[node] = other
        elif is_lam(node) or not node.children:
            made[node] = node
        else:
            made[node] = term(node.head, *(made[child] for child in node.children))
    return None if made[root] is root else made[root]


def tilings(loop: Term, block: int) -> Iterator[Term]:
    """Yield a loop of a known size in blocks, if the size is a multiple of the block's.

    A vector is built in blocks, and read from them.
    """
    size, function = loop.children
    if loop.head not in _LOOPS or not is_lam(function):
        return
    if not isinstance(size.head, int) or size.head <= block or size.head % block:
        return
    place = term("add", term("mul", term(block), bound(1, INTEGER)), bound(0, INTEGER))
    inner = open_binder(_under_two(function.children[0]), place)
    tile = term(loop.head, term(block), lam(INTEGER, inner))
    tiled = term(loop.head, term(size.head // block), lam(INTEGER, tile))
    if loop.head == "sumbuild":
        yield tiled
        return
    turn, width = bound(0, INTEGER), term(block)
    row = term("div", turn, width)
    within = term("sub", turn, term("mul", width, row))
    read = term("index", within, term("index", row, shift_indices(tiled, 1)))
    yield term("build", size, lam(INTEGER, read))


def _under_two(body: Term) -> Term:
    """Return a body whose own variable stays nearest, and others count two binders more."""
    return substitute(body, lambda index, leaf: with_index(leaf, index + 2) if index else leaf)
