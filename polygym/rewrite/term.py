"""Terms: hash-consed values, a head and children; equal terms are one object.

A term stands for a whole expression, and since equal parts are shared, for a directed graph without
cycles as well: ``f(g(x), g(x))`` has three nodes. A walk visits each node once
(:func:`postorder`), or time grows with the number of paths instead of nodes.

    >>> x = term("x")
    >>> term("f", x, x) is term("f", x, x)
    True
    >>> [str(one.head) for one in postorder([term("f", term("g", x), term("g", x))])]
    ['x', 'g', 'f']

A head is a word or a number. ``1``, ``1.0`` and ``True`` are equal for Python and three heads here,
and so are ``0.0`` and ``-0.0``.
A *variable* of a pattern is a leaf whose head begins with ``?``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar
from weakref import ref

Head: TypeAlias = str | int | float
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Term:
    """A head and children; made by :func:`term` alone, so that equal ones are one object."""

    head: Head
    children: tuple[Term, ...]

    def __reduce__(self) -> Any:
        """Be pickled node by node: a chain of thousands must not exhaust the stack."""
        return _unflatten, (_flatten(self),)

    def __repr__(self) -> str:
        """Say the head and how many nodes there are: the text may be exponentially long."""
        return f"<term {self.head} of {size([self])} nodes>"


class _Reference(ref[Term]):
    """A weak reference that knows its place in the table."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


_TABLE: dict[tuple[Any, ...], _Reference] = {}
_LOCK = threading.RLock()  # a term may go, and be forgotten, while another is made
_SET_HEAD: Callable[[Term, Head], None] = vars(Term)["head"].__set__
_SET_CHILDREN: Callable[[Term, tuple[Term, ...]], None] = vars(Term)["children"].__set__


def term(head: Head, *children: Term) -> Term:
    """Return the term of a head and children."""
    key: tuple[Any, ...] = (head.__class__, head, children)
    if head.__class__ is float and head == 0.0:
        key = (float, repr(head), children)  # 0.0 and -0.0 are equal, and two heads
    reference = _TABLE.get(key)
    if reference is not None and (result := reference()) is not None:
        return result
    with _LOCK:
        reference = _TABLE.get(key)
        if reference is not None and (result := reference()) is not None:
            return result
        made = object.__new__(Term)  # half the time that the constructor takes
        _SET_HEAD(made, head)
        _SET_CHILDREN(made, children)
        reference = _Reference(made, _forget)
        reference.key = key
        _TABLE[key] = reference
        return made


def _forget(reference: _Reference) -> None:
    with _LOCK:
        if _TABLE.get(reference.key) is reference:
            del _TABLE[reference.key]


def is_variable(node: Term) -> bool:
    """Whether a term is a variable of a pattern."""
    return isinstance(node.head, str) and node.head.startswith("?")


def postorder(roots: Iterable[Term]) -> Iterator[Term]:
    """Yield every node once, children before what they belong to, from the left."""
    seen: set[Term] = set()
    for root in roots:
        stack: list[tuple[Term, bool]] = [(root, False)]
        while stack:
            node, is_done = stack.pop()
            if is_done:
                yield node
                continue
            if node in seen:
                continue
            seen.add(node)
            if not node.children:
                yield node
                continue
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children) if child not in seen)


def size(roots: Iterable[Term]) -> int:
    """Return how many nodes there are."""
    return sum(1 for _ in postorder(roots))


def variable_names(roots: Iterable[Term]) -> list[str]:
    """Return the names of the variables, in the order in which they first appear."""
    result: list[str] = []
    seen: set[Term] = set()
    stack = list(roots)
    stack.reverse()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.children:
            stack.extend(reversed(node.children))
        elif is_variable(node):
            result.append(str(node.head))
    return result


def rebuild(root: Term, change: Callable[[Term, tuple[Term, ...]], Term]) -> Term:
    """Return what a function makes of every node and its new children, from the leaves on."""
    made: dict[Term, Term] = {}
    for node in postorder([root]):
        made[node] = change(node, tuple(made[child] for child in node.children))
    return made[root]


def memoized_value(root: Term, memo: dict[Term, Value], compute: Callable[[Term], Value]) -> Value:
    """Return the value of a node, and remember those of all nodes below that were not known.

    ``compute`` makes a node's of its children's, which it looks up in ``memo``; as a rule only the
    root is new, so that is tried first: a ``KeyError`` says that a child is not known.

    >>> depths: dict[Term, int] = {}
    >>> def depth(one: Term) -> int:
    ...     return 1 + max((depths[child] for child in one.children), default=0)
    >>> memoized_value(term("f", term("g", term("x"))), depths, depth)
    3
    """
    try:
        result = memo[root] = compute(root)
        return result
    except KeyError:
        pass
    stack = [root]
    while stack:
        node = stack[-1]
        if node in memo:
            stack.pop()
            continue
        missing = [child for child in node.children if child not in memo]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        memo[node] = compute(node)
    return memo[root]


def substitute(root: Term, values: dict[str, Term]) -> Term:
    """Return a pattern with terms in the places of its variables.

    >>> x = term("x")
    >>> substitute(term("f", term("?a"), term("?a")), {"?a": x}) is term("f", x, x)
    True
    """
    return rebuild(
        root,
        lambda node, children: (
            values[str(node.head)]
            if is_variable(node)
            else (node if children == node.children else term(node.head, *children))
        ),
    )


def _flatten(root: Term) -> list[tuple[Head, tuple[int, ...]]]:
    places: dict[Term, int] = {}
    rows: list[tuple[Head, tuple[int, ...]]] = []
    for node in postorder([root]):
        places[node] = len(rows)
        rows.append((node.head, tuple(places[child] for child in node.children)))
    return rows


def _unflatten(rows: list[tuple[Head, tuple[int, ...]]]) -> Term:
    made: list[Term] = []
    for head, children in rows:
        made.append(term(head, *(made[child] for child in children)))
    return made[-1]
