"""The e-graph: classes of equal nodes, closed under congruence.

A *node* is an operator (a head with a count of children) and child *classes*. Nodes are numbered in
the order in which they were added; the number of a node is a name of its class too, and of several
names :meth:`EGraph.find` returns the one that counts. Equal nodes are one (hash-consing); when
classes are united, nodes above them may become equal, which :meth:`EGraph.rebuild` finds out for
all unions since the last time at once. Of two nodes that become one, the earlier stays.

Everything lies in lists that are indexed by number, without an object for a node: hundreds of
thousands of additions a second is what saturation needs.

A node may be *blacklisted*: it is there, so that it is not added again, but neither found by
matching nor chosen by extraction. *Original* nodes are those of terms that were added whole.

    >>> from polygym.rewrite.s_expressions import parse_term
    >>> from polygym.rewrite.domain import TrivialDomain
    >>> graph = EGraph(TrivialDomain())
    >>> one, other = (graph.add_term(parse_term(text)) for text in ("(f (g x))", "(f x)"))
    >>> inner, x = (graph.lookup(parse_term(text)) for text in ("(g x)", "x"))
    >>> graph.union(inner, x) is not None and graph.find(one) == graph.find(other)
    False
    >>> graph.rebuild()
    >>> graph.find(one) == graph.find(other), graph.node_count, graph.class_count
    (True, 3, 2)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy

from polygym.rewrite.domain import REFUSED, Data, Domain, Inadmissible, TypeTable, type_table
from polygym.rewrite.rule import Rule
from polygym.rewrite.term import Head, Term, postorder

_STATE_DEAD, _STATE_BLACKLISTED, _STATE_LIVE = 2, 1, 0


class EGraphFullError(Exception):
    """A node more than the e-graph may hold is needed; for those who set :attr:`EGraph.limit`."""


class EGraph:
    """Classes of nodes over a domain."""

    def __init__(self, domain: Domain | TypeTable) -> None:
        """Hold nothing."""
        self.types = type_table(domain)
        self.keys: list[tuple[int, ...]] = []
        """Node: its operator and child classes, as they were called at the last rebuilding."""
        self.parents: list[int] = []
        """Node or class: another name of the class, itself for the name that counts."""
        self.table: dict[tuple[int, ...], int] = {}
        """The node of a key."""
        self.numbers: list[int] = []
        """Class: the number of its data."""
        self.members: dict[int, list[int]] = {}
        """Class: its nodes, in order."""
        self.states = bytearray()
        """Node: 0, 1 if blacklisted, 2 if it became one with an earlier one."""
        self.originals = bytearray()
        """Node: whether it is part of a term that was added whole."""
        self.touched: list[int] = []
        """Node: when it changed last, by ticks: itself, its class, a child, or a child's data."""
        self.tick = 1
        self.searched: dict[Rule, int] = {}
        """Rule: the tick before which all its matches have been applied."""
        self.limit = 0
        """How many nodes there may be, 0 for any number."""
        self.node_count = 0
        """How many nodes there are, blacklisted ones included."""
        self.changes = 0
        """Counts additions and unions: the same number means the same e-graph."""
        self.cut_at = 0
        """At which count of changes it was last known to have no cycles."""
        self._uses: list[list[int]] = []
        self._to_repair: list[int] = []
        self._to_infer: list[int] = []

    # What is there

    @property
    def class_count(self) -> int:
        """How many classes there are."""
        return len(self.members)

    @property
    def blacklist(self) -> list[int]:
        """The blacklisted nodes, in order."""
        return [node for node, state in enumerate(self.states) if state == _STATE_BLACKLISTED]

    def find(self, class_name: int) -> int:
        """Return the name that counts of a class, or of a node's class."""
        parents = self.parents
        while (parent := parents[class_name]) != class_name:
            parents[class_name] = class_name = parents[parent]
        return class_name

    def classes(self) -> list[int]:
        """Return all classes, in order of the nodes that they are named after."""
        return sorted(self.members)

    def nodes(self) -> Iterator[int]:
        """Yield all nodes in the order in which they were added, blacklisted ones included."""
        states = self.states
        return (node for node in range(len(states)) if states[node] != _STATE_DEAD)

    def nodes_of(self, name: int) -> list[int]:
        """Return the nodes of a class in order, blacklisted ones included."""
        return self.members[self.find(name)]

    def usable_nodes_of(self, name: int) -> list[int]:
        """Return the nodes of a class that are not blacklisted, in order."""
        states = self.states
        return [node for node in self.members[self.find(name)] if not states[node]]

    def head_of(self, node: int) -> Head:
        """Return a node's head."""
        return self.types.heads[self.keys[node][0]]

    def children_of(self, node: int) -> tuple[int, ...]:
        """Return the classes that a node has as children."""
        return tuple(map(self.find, self.keys[node][1:]))

    def data_of(self, name: int) -> Data:
        """Return what a class is."""
        return self.types.values[self.numbers[self.find(name)]]

    def uses_of(self, name: int) -> list[int]:
        """Return the nodes that have a class as child, in no certain order, dead ones too."""
        return self._uses[self.find(name)]

    def is_original(self, node: int) -> bool:
        """Whether a node is part of a term that was added whole."""
        return bool(self.originals[node])

    def lookup(self, root: Term) -> int | None:
        """Return the class of a term, None if it is in none (or only through blacklisted nodes)."""
        result: dict[Term, int] = {}
        for term in postorder([root]):
            operator = self.types.operator(term.head, len(term.children))
            node = self.table.get((operator, *(result[child] for child in term.children)))
            if node is None or self.states[node] == _STATE_BLACKLISTED:
                return None
            result[term] = self.find(node)
        return result[root]

    def nodes_making(self, root: Term) -> list[int]:
        """Return the nodes of a term that :meth:`lookup` finds."""
        result: dict[Term, int] = {}
        for term in postorder([root]):
            operator = self.types.operator(term.head, len(term.children))
            names = [self.find(result[child]) for child in term.children]
            result[term] = self.table[(operator, *names)]
        return list(result.values())

    # What changes it

    def add_term(self, root: Term) -> int:
        """Add a term; its nodes are original from now on. Return its class.

        Raises:
            Inadmissible: a part of it makes no sense; the parts before are there nevertheless.
        """
        return self.add_terms([root])[0]

    def add_terms(self, roots: Sequence[Term]) -> list[int]:
        """Add terms that may share parts, in one walk. Return their classes.

        Raises:
            Inadmissible: a part of one makes no sense; the parts before are there nevertheless.
        """
        made: dict[Term, int] = {}
        for term in postorder(roots):
            key = (
                self.types.operator(term.head, len(term.children)),
                *(self.find(made[child]) for child in term.children),
            )
            node = self.table.get(key)
            if node is None:
                node = self._made(key)
            elif self.states[node] == _STATE_BLACKLISTED:
                self.states[node] = _STATE_LIVE
                self.touched[node] = self.tick
            self.originals[node] = 1
            made[term] = self.find(node)
        return [made[root] for root in roots]

    def add(self, head: Head, children: Iterable[int] = ()) -> int:
        """Add a node, if it is not there, and return its class.

        Raises:
            Inadmissible: there is no such node.
        """
        names = tuple(map(self.find, children))
        key = (self.types.operator(head, len(names)), *names)
        node = self.table.get(key)
        return self.find(self._made(key) if node is None else node)

    def make(self, key: tuple[int, ...]) -> int:
        """Add a node that is not there, and return its class; ``REFUSED`` if it is inadmissible.

        Raises:
            Full: there are as many nodes as there may be.
        """
        numbers = self.numbers
        number = self.types.infer((key[0], *[numbers[child] for child in key[1:]]))
        if number < 0:
            return REFUSED
        if self.limit and self.node_count >= self.limit:
            raise EGraphFullError
        node = len(self.keys)
        self.keys.append(key)
        self.parents.append(node)
        self.table[key] = node
        self.numbers.append(number)
        self.members[node] = [node]
        self.states.append(_STATE_LIVE)
        self.originals.append(0)
        self.touched.append(self.tick)
        uses = self._uses
        uses.append([])
        for child in dict.fromkeys(key[1:]):
            uses[child].append(node)
        self.node_count += 1
        self.changes += 1
        return node

    def union(self, one: int, other: int) -> int:
        """Make two classes one and return it; :meth:`rebuild` finds out what follows.

        Raises:
            Inadmissible: the domain says that they cannot be equal; nothing has changed.
        """
        if not self.unite(one, other):
            numbers = self.numbers[self.find(one)], self.numbers[self.find(other)]
            self.types.domain.join(*(self.types.values[number] for number in numbers))
            raise AssertionError("the domain refuses to join at one time and not at another")
        return self.find(one)

    def unite(self, one: int, other: int) -> bool:
        """Make two classes one, if the domain allows it."""
        one, other = self.find(one), self.find(other)
        if one == other:
            return True
        numbers, uses = self.numbers, self._uses
        number = self.types.join(numbers[one], numbers[other])
        if number < 0:
            return False
        if (len(uses[one]), other) < (len(uses[other]), one):
            one, other = other, one
        if number != numbers[one] or number != numbers[other]:
            self._to_infer.append(one)
        numbers[one] = number
        self.parents[other] = one
        self._to_repair.append(other)
        moved = self.members.pop(other)
        touched, tick = self.touched, self.tick
        for node in moved:
            touched[node] = tick
        self.members[one] += moved
        self.changes += 1
        return True

    def rebuild(self) -> None:
        """Find all equalities that follow from unions, and all data that follow from data.

        Raises:
            Inadmissible: the domain says that what follows cannot be; some union was wrong.
        """
        changed: dict[int, None] = {}
        while self._to_repair or self._to_infer:
            while self._to_repair:
                todo, self._to_repair = self._to_repair, []
                for name in todo:
                    changed[name] = None
                    self._repair(name, changed)
            self._propagate_data()
        members, states = self.members, self.states
        for name in dict.fromkeys(map(self.find, changed)):
            members[name] = sorted(node for node in members[name] if states[node] != _STATE_DEAD)
        if changed:
            for name in range(len(self.parents)):
                self.find(name)

    def blacklist_node(self, node: int) -> None:
        """Take a node out of what matching finds and extraction chooses."""
        self.states[node] = _STATE_BLACKLISTED
        self.changes += 1

    def copy(self) -> EGraph:
        """Return an e-graph of its own that is like this one; what the domain said is shared."""
        other = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list | dict | bytearray):
                setattr(other, name, value.copy())
        other.members = {name: nodes[:] for name, nodes in self.members.items()}
        other._uses = [uses[:] for uses in self._uses]
        return other

    def _made(self, key: tuple[int, ...]) -> int:
        made = self.make(key)
        if made == REFUSED:
            self.types.infer_or_raise((key[0], *(self.numbers[child] for child in key[1:])))
            raise AssertionError("the domain refuses a node at one time and not at another")
        return made

    def _repair(self, old: int, changed: dict[int, None]) -> None:
        """Give the nodes that use a class by a name that counts no more its new name.

        Notes of which classes a node became one with another.
        """
        keys, table, states, find = self.keys, self.table, self.states, self.find
        touched, tick = self.touched, self.tick
        nodes, self._uses[old] = self._uses[old], []
        for node in nodes:
            if states[node] == _STATE_DEAD:
                continue
            touched[node] = tick
            key = keys[node]
            if table.get(key) == node:
                del table[key]
            key = (key[0], *[find(child) for child in key[1:]])
            twin = table.get(key)
            if twin is None or twin == node:
                table[key] = node
                keys[node] = key
                self._uses[find(old)].append(node)
                continue
            changed[node] = None
            if node < twin:
                self._uses[find(old)].append(node)
                self._merge_nodes(node, twin, key)
            else:
                self._merge_nodes(twin, node, key)

    def _merge_nodes(self, kept: int, dropped: int, key: tuple[int, ...]) -> None:
        states = self.states
        if states[kept] == _STATE_BLACKLISTED and states[dropped] == _STATE_LIVE:
            states[kept] = _STATE_LIVE
        self.touched[kept] = self.tick
        states[dropped] = _STATE_DEAD
        self.originals[kept] |= self.originals[dropped]
        self.table[key] = kept
        self.keys[kept] = key
        self.node_count -= 1
        if not self.unite(kept, dropped):
            self.union(kept, dropped)

    def _propagate_data(self) -> None:
        types, numbers, states, find = self.types, self.numbers, self.states, self.find
        while self._to_infer and not self._to_repair:
            changed = find(self._to_infer.pop())
            for node in self._uses[changed]:
                if states[node] == _STATE_DEAD:
                    continue
                self.touched[node] = self.tick
                key = self.keys[node]
                data = (key[0], *[numbers[find(child)] for child in key[1:]])
                inferred, name = types.infer(data), find(node)
                if inferred == REFUSED:
                    types.infer_or_raise(data)
                joined = types.join(numbers[name], inferred)
                if joined == REFUSED:
                    types.domain.join(types.values[numbers[name]], types.values[inferred])
                    raise Inadmissible(f"{types.heads[key[0]]}: its data contradict its class's")
                if joined != numbers[name]:
                    numbers[name] = joined
                    self._to_infer.append(name)
