"""Domain of rewriting: types of nodes, functions and conditions of a language.

The e-graph, the rewriter at a place and the tables of rules work on heads and children alone. A
*domain* tells them what a node is (its data: for tensor graphs shape and type), which nodes make
sense, and what the words of conditions mean. Data are values: they hash and compare.

The domain of words: every node makes sense, no data, no conditions.

What is true of all languages can be tried with it, and it shows the least that a domain has to say.

Table of types: data of a domain are numbered, and no question is asked twice.

The e-graph and the rewriter at a place ask for the data of thousands of nodes of which few differ:
most have a head and children's data that were there before. :class:`TypeTable` numbers operators (a
head with a count of children) and data, and keeps every answer of :meth:`Domain.infer` and
:meth:`Domain.join`, refusals too. It grows with the number of *different* questions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from polygym.errors import PolygymError
from polygym.lru_cache import LruCache
from polygym.rewrite.term import Head, Term, postorder

Data = Any


class Inadmissible(PolygymError):
    """A node makes no sense with these children: it must not be made."""


class Domain(Protocol):
    """A language: the data of nodes, and functions of data."""

    def infer(self, head: Head, children: tuple[Data, ...]) -> Data:
        """Return what a node is, given what its children are.

        Raises:
            Inadmissible: there is no such node.
        """
        ...

    def join(self, one: Data, other: Data) -> Data:
        """Return what two nodes are that are known to be equal.

        Raises:
            Inadmissible: they cannot be equal, so the rule is unsound.
        """
        ...

    def compute(self, function: str, arguments: tuple[Data, ...]) -> Head:
        """Return the literal that ``(=function arguments…)`` stands for in a target or a condition.

        Raises:
            Inadmissible: the function says nothing of such arguments.
        """
        ...

    def holds(self, condition: str, arguments: tuple[Data, ...]) -> bool:
        """Whether a condition holds."""
        ...

    def is_free(self, data: Data) -> bool:
        """Whether a node costs nothing, however it is made."""
        ...

    def functions(self) -> dict[str, str]:
        """Return the names of functions for :meth:`compute`, and a sentence about each."""
        ...

    def conditions(self) -> dict[str, str]:
        """Return the names of conditions for :meth:`holds`, and a sentence about each."""
        ...


class TrivialDomain:
    """Says of everything that it is fine."""

    def infer(self, head: Head, children: tuple[Data, ...]) -> Data:
        """Return None: there is nothing to know."""
        return None

    def join(self, one: Data, other: Data) -> Data:
        """Return None."""
        return None

    def compute(self, function: str, arguments: tuple[Data, ...]) -> Head:
        """Refuse: there are no functions."""
        raise Inadmissible(f"={function}: expected no function, there are none")

    def holds(self, condition: str, arguments: tuple[Data, ...]) -> bool:
        """Return False: there are no conditions."""
        return False

    def is_free(self, data: Data) -> bool:
        """Return False."""
        return False

    def functions(self) -> dict[str, str]:
        """Return none."""
        return {}

    def conditions(self) -> dict[str, str]:
        """Return none."""
        return {}


REFUSED = -1
"""The number in the place of data where there are none: such a node is inadmissible."""

_MAX_TERMS = 200_000


Source = TypeVar("Source")
Compiled = TypeVar("Compiled")


class TypeTable:
    """Numbers of operators and data, and the answers of a domain, which must never change.

    Shared by whatever works with one domain: e-graphs, copies of them, searches.
    """

    def __init__(self, domain: Domain) -> None:
        """Know nothing yet."""
        self.domain = domain
        self.heads: list[Head] = []
        self.arities: list[int] = []
        self.values: list[Data] = []
        self._operators: dict[tuple[type, Head, int], int] = {}
        self._numbers: dict[tuple[type, Data], int] = {}
        self._inferred: dict[tuple[int, ...], int] = {}
        self._joined: dict[tuple[int, int], int] = {}
        self._terms: dict[Term, int] = {}
        self._compiled: dict[tuple[object, object], Any] = {}

    def compiled(self, kind: Callable[[Source, TypeTable], Compiled], source: Source) -> Compiled:
        """Return what a class makes of a rule or a pattern, made once for a domain."""
        result: Compiled | None = self._compiled.get((kind, source))
        if result is None:
            result = self._compiled[kind, source] = kind(source, self)
        return result

    def operator(self, head: Head, arity: int) -> int:
        """Return the number of a head with so many children."""
        key = (head.__class__, head, arity)
        result = self._operators.get(key)
        if result is None:
            result = self._operators[key] = len(self.heads)
            self.heads.append(head)
            self.arities.append(arity)
        return result

    def number(self, value: Data) -> int:
        """Return the number of data."""
        key = (value.__class__, value)
        result = self._numbers.get(key)
        if result is None:
            result = self._numbers[key] = len(self.values)
            self.values.append(value)
        return result

    def infer(self, key: tuple[int, ...]) -> int:
        """Return the number of a node's data, given its operator and the numbers of its children's.

        ``REFUSED`` if there is no such node.
        """
        result = self._inferred.get(key)
        if result is None:
            try:
                result = self.number(self.infer_or_raise(key))
            except Inadmissible:
                result = REFUSED
            self._inferred[key] = result
        return result

    def infer_or_raise(self, key: tuple[int, ...]) -> Data:
        """Return a node's data as the domain itself gives it, or raise what it raises."""
        values = self.values
        return self.domain.infer(self.heads[key[0]], tuple(values[number] for number in key[1:]))

    def join(self, one: int, other: int) -> int:
        """Return the number of the data of two nodes that are equal, ``REFUSED`` if they cannot."""
        if one == other:
            return one
        result = self._joined.get((one, other))
        if result is None:
            try:
                result = self.number(self.domain.join(self.values[one], self.values[other]))
            except Inadmissible:
                result = REFUSED
            self._joined[one, other] = result
        return result

    def number_of(self, root: Term) -> int:
        """Return the number of a term's data, ``REFUSED`` if a part of it is inadmissible."""
        known = self._terms
        result = known.get(root)
        if result is not None:
            return result
        if len(known) > _MAX_TERMS:  # terms that are known stay alive: do not keep all of them
            known.clear()
        missing: list[Term] = []
        seen = {root}
        stack = [root]
        while stack:  # parts that are known are not walked through
            term = stack.pop()
            missing.append(term)
            for child in term.children:
                if child not in known and child not in seen:
                    seen.add(child)
                    stack.append(child)
        if len(missing) > 1:
            missing = _postorder_within(root, seen)
        for term in missing:
            children = [known[child] for child in term.children]
            key = (self.operator(term.head, len(children)), *children)
            known[term] = REFUSED if REFUSED in children else self.infer(key)
        return known[root]

    def of(self, root: Term) -> Data:
        """Return a term's data.

        Raises:
            Inadmissible: a part of it makes no sense.
        """
        result = self.number_of(root)
        if result != REFUSED:
            return self.values[result]
        for term in postorder([root]):
            if self.number_of(term) == REFUSED:
                children = [self.number_of(child) for child in term.children]
                self.infer_or_raise((self.operator(term.head, len(children)), *children))
        raise AssertionError("the domain refuses a node at one time and not at another")


_TABLES: LruCache[int, TypeTable] = LruCache(16)


def type_table(domain: Domain | TypeTable) -> TypeTable:
    """Return what is known of a domain, for a domain that was used lately what was known then."""
    if isinstance(domain, TypeTable):
        return domain
    return _TABLES.get(
        id(domain), lambda: TypeTable(domain)
    )  # which keeps the domain, and so its id


def _postorder_within(root: Term, inside: set[Term]) -> list[Term]:
    """Return the nodes of a set that closes upwards to the root, children first."""
    order: list[Term] = []
    seen: set[Term] = set()
    stack: list[tuple[Term, bool]] = [(root, False)]
    while stack:
        term, is_done = stack.pop()
        if is_done:
            order.append(term)
        elif term not in seen:
            seen.add(term)
            stack.append((term, True))
            stack.extend(
                (child, False)
                for child in reversed(term.children)
                if child in inside and child not in seen
            )
    return order
