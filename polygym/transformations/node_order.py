"""Rows of constants in a construction: nodes of some statements move before the others.

A loop with statements of both kinds is distributed. Its body is arranged first, so that one step is
enough for several loops inside each other. Example, S0 and S2 before S1::

    L1                         L1               L1               L1
      L2       distribute        L2 (S0)          L2 (S0)          L2 (S0)
        S0       L2 before S1    L3 (S1)          S2               S2
        S1           →           S2         →     L3 (S1)    →   L4
      S2                                                           L3 (S1)
"""

from __future__ import annotations

from polygym.transformations.construction import Construction
from polygym.transformations.steps import Distribute, Reorder


class NodeOrder:
    """The division of nodes into those of some statements, and the others."""

    def __init__(self, build: Construction, first: frozenset[str]) -> None:
        self._build = build
        self._first = first

    def divided(self, names: list[str]) -> tuple[list[str], list[str]]:
        """Arrange neighbours so that the nodes of some statements stand before the others."""
        mixed = [name for name in names if self._is_mixed(name)]
        for name in mixed:
            self._gather(name)
        for name in mixed:
            names = self._distributed(names, name)
        names = self._sorted(names)
        count = sum(self._is_first(name) for name in names)
        return names[:count], names[count:]

    def _gather(self, name: str) -> None:
        """Arrange the body of a loop so that it can be distributed by one step."""
        names = self._build.body(name)
        mixed = [child for child in names if self._is_mixed(child)]
        for child in mixed:
            self._gather(child)
        classes = [1 if child in mixed else 0 if self._is_first(child) else 2 for child in names]
        if len(mixed) == 1 and classes == sorted(classes):
            return
        for child in mixed:
            names = self._distributed(names, child)
        self._sorted(names)

    def _distributed(self, names: list[str], name: str) -> list[str]:
        """Distribute one of some neighbours, and return them all."""
        number = self._build.tree.next_number
        self._build.do(Distribute(name, self._border(name)))
        assert self._build.tree.next_number > number
        around = self._build.around(name)
        body = around[-1].body if around else self._build.tree.body
        siblings = [node.name for node in body]
        new = siblings[siblings.index(name) + 1]
        place = names.index(name)
        return [*names[: place + 1], new, *names[place + 1 :]]

    def _border(self, name: str) -> str:
        """Return the node in a gathered loop before which it must be distributed."""
        for child in self._build.body(name):
            if self._is_mixed(child):
                return self._border(child)
            if not self._is_first(child):
                return child
        raise AssertionError(name)

    def _sorted(self, names: list[str]) -> list[str]:
        """Move nodes of some statements before their neighbours."""
        before = [name for name in names if self._is_first(name)]
        behind = [name for name in names if name not in before]
        for name in before:
            if behind and names.index(behind[0]) < names.index(name):
                self._build.do(Reorder(behind[0], name))
        return [*before, *behind]

    def _is_first(self, name: str) -> bool:
        return set(self._build.node(name).statements) <= self._first

    def _is_mixed(self, name: str) -> bool:
        statements = self._build.node(name).statements
        return 0 < len(self._first.intersection(statements)) < len(statements)
