"""Table of types: data of a domain are numbered, and no question is asked twice.

The e-graph and the rewriter at a place ask for the data of thousands of nodes of which few differ:
most have a head and children's data that were there before. :class:`TypeTable` numbers operators (a
head with a count of children) and data, and keeps every answer of :meth:`Domain.infer` and
:meth:`Domain.join`, refusals too. It grows with the number of *different* questions.
"""

from polygym.lru_cache import LruCache
from polygym.rewrite.domain import Data, Domain, Inadmissible
from polygym.rewrite.term import Head, Term, postorder

REFUSED = -1
"""The number in the place of data where there are none: such a node is inadmissible."""

_MAX_TERMS = 200_000


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
        self.programs: dict[object, object] = {}
        """What was compiled of rules and patterns for e-graphs."""
        self.recipes: dict[object, object] = {}
        """What was compiled of them for terms."""

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
        return self.domain.infer(self.heads[key[0]], tuple(values[one] for one in key[1:]))

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
