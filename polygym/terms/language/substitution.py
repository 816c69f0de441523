"""Substitution without capture: variables that are bound have no names that could clash.

What moves under a binder counts one binder more to everything that is free in it
(:func:`shift_indices`); the body of a binder that goes away has its variable replaced and counts
one less (:func:`open_binder`). Parts without a variable that is concerned are not walked through,
and stay the objects they are.

Example: ``(let a (lam (add %0 %1)))`` with its let opened is ``(lam (add %0 a'))``, a' being a with
every free number one larger.
"""

from collections.abc import Callable, Mapping

from polygym.rewrite.term import Term, term
from polygym.terms.language.nodes import binds, index_of, name_of, term_facts


def substitute(root: Term, image: Callable[[int, Term], Term]) -> Term:
    """Return a term with something else for each variable that is free in it.

    ``image(k, leaf)`` is what stands for ``%k``, as it would be written where the term stands; it
    is shifted where it is put under binders.
    """
    if term_facts(root).free == 0:
        return root

    def leaf(node: Term, depth: int) -> Term:
        index = index_of(node) - depth
        return shift_indices(image(index, with_index(node, index)), depth)

    return _walked(root, leaf)


def with_index(leaf: Term, index: int) -> Term:
    """Return a variable of the same type with another number."""
    head = str(leaf.head)
    return term(f"%{index}{head[head.index(':') :]}")


def shift_indices(root: Term, by: int) -> Term:
    """Return a term as it is written under so many more binders, or fewer if ``by`` is negative."""
    free = term_facts(root).free
    if by == 0 or free == 0:
        return root
    assert by > 0 or free & ((1 << -by) - 1) == 0, "a variable would lose its binder"
    if not root.children:
        return with_index(root, index_of(root) + by)
    return _walked(root, lambda node, _: with_index(node, index_of(node) + by))


def _walked(root: Term, leaf: Callable[[Term, int], Term], *, all_leaves: bool = False) -> Term:
    """Return a term with something else for its leaves, told under how many binders each stands.

    Unless all leaves are concerned, parts in which nothing is free are left as they are.
    """
    made: dict[tuple[Term, int], Term] = {}
    stack = [(root, 0)]
    while stack:
        key = stack[-1]
        node, depth = key
        if key in made:
            stack.pop()
        elif not all_leaves and term_facts(node).free >> depth == 0:
            made[key] = node
            stack.pop()
        elif not node.children:
            made[key] = leaf(node, depth)
            stack.pop()
        else:
            inner = [
                (child, depth + binds(node, place)) for place, child in enumerate(node.children)
            ]
            missing = [child for child in inner if child not in made]
            if missing:
                stack.extend(missing)
            else:
                made[key] = term(node.head, *(made[child] for child in inner))
                stack.pop()
    return made[root, 0]


def open_binder(body: Term, value: Term) -> Term:
    """Return the body of a binder with a value for its variable, and without the binder."""
    if term_facts(body).free & 1 == 0:
        return shift_indices(body, -1)
    return substitute(
        body, lambda index, leaf: value if index == 0 else with_index(leaf, index - 1)
    )


def close_binder(body: Term, name: Term) -> Term:
    """Return what is to stand under a new binder, whose variable stands for a free one.

    The free variable ``name`` becomes ``%0``, and all that is bound outside counts one more.
    """
    kind = str(name.head).partition(":")[2]

    def leaf(node: Term, depth: int) -> Term:
        if node is name:
            return term(f"%{depth}:{kind}")
        index = index_of(node)
        return with_index(node, index + 1) if index >= depth else node

    return _walked(body, leaf, all_leaves=True)


def bind_names(
    root: Term, levels: Mapping[str, int], level: int, images: Mapping[str, Term] | None = None
) -> Term:
    """Return a term as it is written under binders for some of its free names.

    ``levels`` says of each name which binder stands for it, counted from the outermost, of
    ``level`` ones around the term; ``images`` has closed terms for others. Nothing else may be free
    by number.

    >>> from polygym.terms.language.nodes import variable
    >>> from polygym.terms.language.types import FLOAT
    >>> x, y = variable("x", FLOAT), variable("y", FLOAT)
    >>> [one.head for one in bind_names(term("sub", x, y), {"x": 0, "y": 1}, 2).children]
    ['%1:Float', '%0:Float']
    """

    def leaf(node: Term, depth: int) -> Term:
        name = name_of(node)
        if name not in levels:
            return node if images is None else images.get(name, node)
        return term(f"%{level - 1 - levels[name] + depth}:{str(node.head).partition(':')[2]}")

    return _walked(root, leaf, all_leaves=True)
