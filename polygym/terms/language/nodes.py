"""Nodes of the language: constants, variables by their distance, ``lam``; what is known of each.

Terms are those of :mod:`polygym.rewrite.term`, with variables that have no names where something
binds them. ``%0`` is the variable of the innermost ``let`` or ``lam`` around it, ``%1`` of the next
one, and so on (de Bruijn's numbers). So terms that differ in the names of variables alone are one
object, and nothing can be captured by accident; what is shared is shared under binders too, as long
as it has none of their variables. A variable has its type in its head, ``%0:Float``, so that what a
part of a term is depends on nothing around it. Free variables have names: ``x:Float``.

``(let a b)`` binds in b, ``(lam:Integer b)`` in b.

    >>> both = let(variable("x", FLOAT), term("add", bound(0, FLOAT), bound(0, FLOAT)))
    >>> both.children[1].head, both.children[1].children[0].head
    ('add', '%0:Float')
    >>> term_facts(both).free, str(term_facts(both).type), term_facts(both).nodes
    (0, 'Float', 5)
"""

import re
from dataclasses import dataclass
from typing import Final

from polygym.errors import InternalError
from polygym.rewrite.term import Term, memoized_value, term
from polygym.terms.language.operators import IllTypedError, result_of
from polygym.terms.language.types import (
    BOOL,
    FLOAT,
    INTEGER,
    FunctionType,
    TupleType,
    Type,
    erase_sizes,
    meet_types,
    type_from_text,
)

TRUE: Final = term("True")
FALSE: Final = term("False")

_BOUND = re.compile(r"%(\d+):")
_OF_FLOATS = ("add", "mul", "sub", "div")
_MOST = 400_000


@dataclass(frozen=True, slots=True)
class TermFacts:
    """What is known of a node.

    ``free`` has bit k set if ``%k`` is free in it, ``type`` is its type without sizes, ``nodes``
    how many nodes there are if what is shared is counted as often as it is used, and ``depth`` how
    many there are on the longest way down.
    """

    free: int
    type: Type
    nodes: int
    depth: int


_KNOWN: dict[Term, TermFacts] = {}
_SET_FREE, _SET_TYPE, _SET_NODES, _SET_DEPTH = (
    vars(TermFacts)[name].__set__ for name in ("free", "type", "nodes", "depth")
)


def constant(value: float | bool) -> Term:
    """Return a number, or a truth value."""
    if isinstance(value, bool):
        return TRUE if value else FALSE
    return term(value)


def variable(name: str, kind: Type) -> Term:
    """Return a free variable."""
    return term(f"{name}:{erase_sizes(kind)}")


def bound(index: int, kind: Type) -> Term:
    """Return the variable of the binder that is so far away."""
    return term(f"%{index}:{erase_sizes(kind)}")


def let(value: Term, body: Term) -> Term:
    """Return ``let``; in the body, ``%0`` is the value."""
    return term("let", value, body)


def lam(kind: Type, body: Term) -> Term:
    """Return a function; in the body, ``%0`` is its argument."""
    return term(f"lam:{erase_sizes(kind)}", body)


def is_lam(node: Term) -> bool:
    """Whether a node is a function."""
    return isinstance(node.head, str) and node.head.startswith("lam:")


def parameter_of(node: Term) -> Type:
    """Return the type of a function's argument."""
    return type_from_text(str(node.head)[4:])


def binds(node: Term, place: int) -> bool:
    """Whether a node binds a variable in one of its children."""
    return place == 1 if node.head == "let" else is_lam(node)


def kind_of(node: Term) -> str:
    """Return a word for what a node is: an operator's name, or a kind of leaf."""
    head = node.head
    if not isinstance(head, str):
        return "constant"
    if node.children:
        return "lam" if is_lam(node) else head
    if node is TRUE or node is FALSE:
        return "truth"
    return "bound" if head.startswith("%") else "variable"


def index_of(node: Term) -> int:
    """Return how far away the binder of a leaf is, -1 if it is no variable that is bound."""
    head = node.head
    if isinstance(head, str) and head.startswith("%"):
        return int(head[1 : head.index(":")])
    return -1


def name_of(node: Term) -> str:
    """Return the name of a free variable, "" if a leaf is none."""
    head = node.head
    if isinstance(head, str) and not node.children and ":" in head and not head.startswith("%"):
        return head[: head.index(":")]
    return ""


def term_facts(node: Term) -> TermFacts:
    """Return what is known of a term; it is found once for each node.

    Raises:
        IllTyped: it makes no sense; says what was expected.
    """
    facts = _KNOWN.get(node)
    return facts if facts is not None else _found(node)


def free_variables(root: Term) -> dict[str, Type]:
    """Return the names that are free in a term, in the order of their appearance, and types."""
    names: dict[str, Type] = {}
    stack, seen = [root], {root}
    while stack:
        node = stack.pop()
        if name := name_of(node):
            names[name] = term_facts(node).type
        for child in reversed(node.children):
            if child not in seen:
                seen.add(child)
                stack.append(child)
    return names


def _found(root: Term) -> TermFacts:
    if len(_KNOWN) > _MOST:  # what is known stays alive: do not keep all of it
        _KNOWN.clear()
    return memoized_value(root, _KNOWN, _of)


def _of(node: Term) -> TermFacts:
    head, children = node.head, node.children
    if not children:
        return _leaf(node)
    if len(children) == 2 and head in _OF_FLOATS:
        left, right = _KNOWN[children[0]], _KNOWN[children[1]]
        if left.type is FLOAT and right.type is FLOAT:
            depth = left.depth if left.depth > right.depth else right.depth
            made = object.__new__(TermFacts)  # half the time that the constructor takes
            _SET_FREE(made, left.free | right.free)
            _SET_TYPE(made, FLOAT)
            _SET_NODES(made, 1 + left.nodes + right.nodes)
            _SET_DEPTH(made, 1 + depth)
            return made
    known = [_KNOWN[child] for child in children]
    if not isinstance(head, str):
        raise IllTypedError(f"expected an operator, found the number {head}")
    nodes = 1 + sum(child.nodes for child in known)
    depth = 1 + max(child.depth for child in known)
    if head == "let" and len(known) == 2:
        return TermFacts(known[0].free | known[1].free >> 1, known[1].type, nodes, depth)
    if head.startswith("lam:"):
        kind = FunctionType(type_from_text(head[4:]), known[0].type)
        return TermFacts(known[0].free >> 1, kind, nodes, depth)
    free = 0
    for child in known:
        free |= child.free
    if head == "select" and len(known) == 2:
        return TermFacts(free, _part(children[0], known[1].type), nodes, depth)
    types = tuple(child.type for child in known)
    return TermFacts(free, erase_sizes(result_of(head, types)), nodes, depth)


def _leaf(node: Term) -> TermFacts:
    head = node.head
    if isinstance(head, float):
        return TermFacts(0, FLOAT, 1, 1)
    if isinstance(head, int):
        return TermFacts(0, INTEGER, 1, 1)
    if node is TRUE or node is FALSE:
        return TermFacts(0, BOOL, 1, 1)
    name, colon, kind = head.partition(":")
    if not colon:
        raise IllTypedError(f"expected a constant or a variable with its type, found {head!r}")
    if name.startswith("%"):
        return TermFacts(1 << int(name[1:]), type_from_text(kind), 1, 1)
    return TermFacts(0, type_from_text(kind), 1, 1)


def _part(number: Term, kind: Type) -> Type:
    place = number.head
    if not isinstance(place, int) or number.children or not isinstance(kind, TupleType):
        raise IllTypedError(
            f"(select 0 t): expected the number of a part and a tuple, found {kind}"
        )
    if not 0 <= place < len(kind.parts):
        raise IllTypedError(
            f"(select 0 t): expected a number from 0 to {len(kind.parts) - 1}, found {place}"
        )
    return kind.parts[place]


def check_bound(root: Term) -> None:
    """Check that nothing refers to a binder that is not there, or to one of another type.

    Raises:
        InternalError: something does.
    """
    stack: list[tuple[Term, tuple[Type, ...]]] = [(root, ())]
    seen: set[tuple[Term, tuple[Type, ...]]] = set()
    while stack:
        node, scope = stack.pop()
        index = index_of(node)
        if index >= 0 and (
            index >= len(scope) or meet_types(scope[-1 - index], term_facts(node).type) is None
        ):
            raise InternalError(f"a term: expected a binder for {node.head}, found none")
        for place, child in enumerate(node.children):
            inner = scope
            if binds(node, place):
                is_let = node.head == "let"
                inner = (
                    *scope,
                    term_facts(node.children[0]).type if is_let else parameter_of(node),
                )
            if term_facts(child).free and (child, inner) not in seen:
                seen.add((child, inner))
                stack.append((child, inner))
