"""Values of the pointers of a function where its region begins: one walk in the order of execution.

The walk keeps the values of all cells, joins those of branches, and walks loops until what they
carry from one iteration to the next is stable::

    double *p = g->u;      p = u0             g->u = u0
    log_state(g);          p = u0             g->u = u0: the function sets no member u
    p++;                   p = u0 + 1         g->u = u0
    #pragma scop           p[i] and g->u[i] are one array
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.memory.pointer_expressions import CellValues, ExpressionValues, Key
from polygym.frontend.c.memory.pointer_values import PointerTerm, Value, loop_values
from polygym.frontend.c.sema.symbols import ResolvedNames
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.parser import ScopRegion

_MAX_ROUNDS = 12


@dataclass(slots=True)
class _Exits:
    """States in which a loop, or a ``switch``, is left or begins again."""

    breaks: list[CellValues] = field(default_factory=list)
    continues: list[CellValues] = field(default_factory=list)


class PointerFlow(ExpressionValues):
    """The values where a region begins, and of expressions there."""

    def __init__(self, tree: Any, region: ScopRegion, names: ResolvedNames) -> None:
        """Walk the function of a region."""
        super().__init__(tree, region.function, names)
        self._region = region
        self._exits: list[_Exits] = []
        self._jumps: dict[str, list[CellValues]] = {}
        self._labels: set[str] = set()
        self._heads: dict[int, CellValues] = {}
        self.is_known = True
        self._at_region: CellValues = {}
        self._statement(region.function.body)
        self._now = dict(self._at_region)

    def cell_value(self, key: Key) -> Value | None:
        """Return the value of a cell where the region begins, None if the function sets it not."""
        return self._at_region.get(key)

    def holds(self, term: PointerTerm) -> bool:
        """Whether an integer that was added to a pointer has the same value where the region is."""
        return all(self._load(key).key == value for key, value in term.reads)

    def _statement(self, node: Any) -> None:
        """Walk a statement; afterwards there is no state where it does not end."""
        match node:
            case None:
                return
            case c_ast.Compound():
                for item in node.block_items or ():
                    self._statement(item)
            case c_ast.Pragma():
                if node is self._region.begin:
                    self._at_region = dict(self._state())
            case c_ast.Decl():
                self._declaration(node)
            case c_ast.DeclList():
                for decl in node.decls:
                    self._declaration(decl)
            case c_ast.If():
                self._branch(node)
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                self._loop(node)
            case c_ast.Switch():
                self._switch(node)
            case c_ast.Break() | c_ast.Continue() if self._exits:
                exits = self._exits[-1]
                states = exits.breaks if isinstance(node, c_ast.Break) else exits.continues
                states.append(dict(self._state()))
                self._now = None
            case c_ast.Return():
                self.value(node.expr)
                self._now = None
            case c_ast.Goto():
                self.is_known &= node.name not in self._labels  # it leads back
                self._jumps.setdefault(node.name, []).append(dict(self._state()))
                self._now = None
            case c_ast.Label():
                self._labels.add(node.name)
                for state in self._jumps.get(node.name, ()):
                    self._now = self._joined(self._now, state, id(node))
                self._statement(node.stmt)
            case _:
                self.value(node)

    def _declaration(self, node: Any) -> None:
        symbol = self._names.symbol_of(node)
        if symbol is None or node.init is None or isinstance(node.init, c_ast.InitList):
            self.value(node.init)
            return
        value = self.value(node.init)
        kind = self.types.resolved(node.type)
        if "static" in (node.storage or ()):
            return  # it has what an earlier call left
        if not isinstance(kind, c_ast.ArrayDecl | c_ast.Struct):
            self._state()[symbol] = value or Value(("set", id(node)))

    def _branch(self, node: Any) -> None:
        question = self._question(node.cond)
        self.value(node.cond)
        before = dict(self._state())
        self._statement(node.iftrue)
        after, self._now = self._now, before
        self._statement(node.iffalse)
        self._now = self._joined(after, self._now, id(node), question)

    def _switch(self, node: Any) -> None:
        """Walk a ``switch``: each of its cases may be left out."""
        self.value(node.cond)
        self._exits.append(_Exits())
        for item in syntax.statements_of(node.stmt):
            before = dict(self._state())
            inner = item.stmts if isinstance(item, c_ast.Case | c_ast.Default) else [item]
            for statement in inner or ():
                self._statement(statement)
            self._now = self._joined(before, self._now, id(item))
        exits = self._exits.pop()
        for state in exits.breaks:
            self._now = self._joined(self._now, state, id(node))
        if self._exits:
            self._exits[-1].continues.extend(exits.continues)

    def _loop(self, node: Any) -> None:
        """Walk a loop until what variables have where an iteration begins is stable.

        The walk begins with what the one before came to, in an earlier round of a loop around: from
        nothing, loops in loops would take 3, 9, 27, … rounds.
        """
        if isinstance(node, c_ast.For):
            self._statement(node.init)
        entry = dict(self._state())
        heads = self._heads.get(id(node), {})
        for key in heads:
            entry.setdefault(key, self._value_at(entry, key))
        for _ in range(_MAX_ROUNDS):
            exits = self._iteration(node, {**entry, **heads})
            after = self._now
            for state in exits.continues:
                after = self._joined(after, state, id(node))
            fresh = self._next_heads(node, entry, heads, after or {})
            if {key: value.key for key, value in fresh.items()} == {
                key: value.key for key, value in heads.items()
            } and {k: v.bases for k, v in fresh.items()} == {k: v.bases for k, v in heads.items()}:
                break
            heads = fresh
        else:
            self.is_known = False
        self._heads[id(node)] = heads
        if isinstance(node, c_ast.DoWhile):
            self._now = after
        else:
            self._now = {**entry, **heads}
            self.value(getattr(node, "cond", None))
        for state in exits.breaks:
            self._now = self._joined(self._now, state, id(node))

    def _iteration(self, node: Any, state: CellValues) -> _Exits:
        self._now = dict(state)
        self._exits.append(_Exits())
        if not isinstance(node, c_ast.DoWhile):
            self.value(node.cond)
        self._statement(node.stmt)
        exits = self._exits.pop()
        for left in exits.continues:
            self._now = self._joined(self._now, left, id(node))
        if self._now is not None:
            if isinstance(node, c_ast.For):
                self.value(node.next)
            if isinstance(node, c_ast.DoWhile):
                self.value(node.cond)
        return _Exits(exits.breaks)

    def _next_heads(
        self, node: Any, entry: CellValues, heads: CellValues, back: CellValues
    ) -> CellValues:
        """Return the values that stand for what an iteration changes, as one more has shown it."""
        for key in back:
            if key not in entry:
                entry[key] = self._value_at(entry, key)
        moved = {
            key
            for key, value in back.items()
            if value.key != (heads[key] if key in heads else entry[key]).key
        }
        moved |= set(heads)
        kinds = {
            key: tuple(state[key].key if key in state else None for state in (entry, heads, back))
            for key in moved
        }
        groups = {kind: key for key, kind in kinds.items()}
        fresh = {key: Value(("loop", id(node), groups[kinds[key]])) for key in moved}
        if set(heads) == moved and len(groups) == len({value.key for value in heads.values()}):
            fresh = {key: Value(heads[key].root) for key in moved}
        return loop_values(id(node), entry, fresh, back)
