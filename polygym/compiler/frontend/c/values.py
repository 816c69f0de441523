"""What integer variables hold, as functions of parameters and counters, while a region is read.

A variable that is assigned an affine value can stand in a subscript or a bound afterwards. Its
value is followed from statement to statement; the two branches of an affine ``if`` give two pieces,
and a counter has the first value behind its loop at which the condition fails. A loop needs more:
what a variable holds when an iteration starts depends on those before. One walk through the body,
with an unknown k₀ for the value of k at its start, says what it does to it. With the first value L
of the counter i, the step s, and k = v before the loop:

=================  ===================================  ======================================
the body leaves    example                              k at the start of iteration i
=================  ===================================  ======================================
k₀ + c             ``k += 2``                           v + c (i − L) / s
f(i), without k₀   ``k = i`` at the end                 v where i = L, otherwise f(i − s)
anything else      ``k = a[i]``, ``k++`` under data     not known
=================  ===================================  ======================================

What is not known is read from memory, so that nothing depends on knowing: assignments stay
statements, unless nobody reads the variable. Values are computed when they are asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pycparser import c_ast

from polygym.compiler.frontend.c.affine import Affine
from polygym.compiler.frontend.c.bindings import Bindings, Environment
from polygym.compiler.frontend.c.exposed import exposed_counters
from polygym.compiler.frontend.c.loops import Loop, read_loop
from polygym.compiler.frontend.c.nodes import is_change, walk
from polygym.compiler.frontend.c.solutions import MOST_PIECES, Solution, Value, compact, exit_value
from polygym.compiler.frontend.c.symbols import Home, Mention, Symbol
from polygym.errors import SourceError


class Values:
    """Follows what variables hold."""

    def __init__(self, bindings: Bindings, affine: Affine) -> None:
        """Start where nothing is known."""
        self._bindings = bindings
        self._affine = affine
        self._names = bindings.names
        self._tracked: dict[Symbol, bool] = {}
        self._changes: dict[int, tuple[Any, list[Symbol]]] = {}
        self._exposed: set[Symbol] = set()
        self.known: Mapping[Symbol, Value] = {}

    @property
    def bindings(self) -> Bindings:
        """What names stand for."""
        return self._bindings

    def region(self, items: Sequence[Any]) -> None:
        """Say what the region consists of."""
        self._exposed = exposed_counters(items, self._names)
        self._tracked.clear()
        self._changes.clear()

    def at(self, environment: Environment) -> Environment:
        """Return an environment in which what is known now can be read."""
        if environment.known is self.known or not (environment.known or self.known):
            return environment
        return replace(environment, known=self.known, memory={})

    def is_tracked(self, symbol: Symbol | None) -> bool:
        """Whether a variable's value is followed: an integer whose address nobody has."""
        if symbol is None or not isinstance(symbol.declaration, c_ast.Decl):
            return False
        if symbol not in self._tracked:
            self._tracked[symbol] = self._can_be_tracked(symbol)
        return self._tracked[symbol]

    def _can_be_tracked(self, symbol: Symbol) -> bool:
        changes = self._names.assignments(symbol)
        if any(change.mention is Mention.ADDRESS for change in changes):
            return False
        if not changes:
            return self._bindings.reads_changing(symbol)
        counts = all(change.mention is Mention.ITERATE for change in changes)
        if counts and symbol not in self._exposed:
            return False
        try:
            shape = self._bindings.shape(symbol, symbol.declaration)
        except SourceError:
            return False
        return shape.type.is_integer and not shape.sizes and not shape.pointer

    # What statements do.

    def assign(self, symbol: Symbol, node: Any, environment: Environment) -> None:
        """Follow ``k = e``, ``k += e`` or ``k++``; ``node`` is the statement or declaration."""
        scalar = self._bindings.shape(symbol, symbol.declaration).type
        environment = self.at(environment).as_role(f"the value of {symbol.name}")
        expression = _assigned(node)
        if expression is None:
            self.forget([symbol])
            return
        self._bindings.adopt(expression, symbol)

        def compute() -> Any:
            """Read the value, if it is affine."""
            found = self._bindings.attempt(self._affine.expression, expression, environment)
            if found is None or found.n_piece() > MOST_PIECES:
                return None
            return self._affine.stored(found, expression, scalar, environment)

        self.known = {**self.known, symbol: Value(compute)}

    def forget(self, symbols: Sequence[Symbol]) -> None:
        """Know no longer what some variables hold."""
        if any(symbol in self.known for symbol in symbols):
            self.known = {s: v for s, v in self.known.items() if s not in symbols}

    def join(
        self, condition: Any, then: Mapping[Symbol, Value], otherwise: Mapping[Symbol, Value]
    ) -> None:
        """Know what is known after both branches of an affine condition."""
        if then is otherwise:
            self.known = then
            return
        joined: dict[Symbol, Value] = {}
        for symbol in then:
            if symbol in otherwise:
                joined[symbol] = _joined(condition, then[symbol], otherwise[symbol])
        self.known = joined

    def meet(self, then: Mapping[Symbol, Value], otherwise: Mapping[Symbol, Value]) -> None:
        """Know what both branches of a condition on data leave alike."""
        self.known = {
            symbol: _alike(then[symbol], otherwise[symbol])
            for symbol in then
            if symbol in otherwise
        }

    def changed_in(self, *nodes: Any) -> list[Symbol]:
        """Return the followed variables that statements change."""
        return list(dict.fromkeys(one for node in nodes for one in self._changed(node)))

    def _changed(self, node: Any) -> list[Symbol]:
        """Return the followed variables that a statement changes, as found the first time."""
        if node is None:
            return []
        if id(node) not in self._changes:
            self._changes[id(node)] = node, self._changed_anew(node)
        return self._changes[id(node)][1]

    def _changed_anew(self, node: Any) -> list[Symbol]:
        """Return the followed variables that a statement changes."""
        found: dict[Symbol, None] = {}
        for one in walk(node):
            target = None
            if is_change(one):
                target = one.lvalue if isinstance(one, c_ast.Assignment) else one.expr
            elif isinstance(one, c_ast.Decl):
                target = one
            symbol = self._names.of(target) if target is not None else None
            if symbol is not None and self.is_tracked(symbol):
                found[symbol] = None
        return list(found)

    def carried(self, node: Any) -> Collection[Symbol]:
        """Return the followed variables that a loop's body changes."""
        return self.changed_in(node.stmt)

    def starting(self, node: Any, loop: Loop) -> Mapping[Symbol, Value]:
        """Return what is known when an iteration of a loop starts; its end is not known yet."""
        before = self.known
        self.enter(node, loop)
        starts, self.known = self.known, before
        return starts

    def enter(self, node: Any, loop: Loop) -> Mapping[Symbol, Value]:
        """Know what is known at the start of a loop's body; return what is known behind it."""
        before = self.known
        changed = [one for one in self.changed_in(node.stmt) if one is not loop.symbol]
        declared = {id(one) for one in _declarations(node.stmt)}
        inside = [one for one in changed if id(one.declaration) in declared]
        carried = [one for one in changed if one not in inside]
        kept = {s: v for s, v in before.items() if s not in changed and s is not loop.symbol}
        after = dict(kept)
        starts: dict[Symbol, Value] = {}
        if carried:
            solved = Solution(self, node, loop, carried, before)
            for symbol in carried:
                starts[symbol] = Value(partial(solved.start, symbol))
                after[symbol] = Value(partial(solved.end, symbol))
        if self.is_tracked(loop.symbol):
            after[loop.symbol] = Value(partial(exit_value, loop))
        self.known = {**kept, **starts}
        return after

    # A walk that only follows values.

    def effect(self, node: Any, environment: Environment) -> None:
        """Follow what a statement does, without making anything of it."""
        match node:
            case c_ast.Compound() | c_ast.DeclList():
                for item in (
                    node.block_items or () if isinstance(node, c_ast.Compound) else (node.decls)
                ):
                    self.effect(item, environment)
            case c_ast.Label():
                self.effect(node.stmt, environment)
            case c_ast.If():
                self._branches(node, environment)
            case c_ast.For():
                self._loop(node, environment)
            case c_ast.Decl() | c_ast.Assignment() | c_ast.UnaryOp():
                target = node if isinstance(node, c_ast.Decl) else None
                if is_change(node):
                    target = node.lvalue if isinstance(node, c_ast.Assignment) else node.expr
                symbol = self._names.of(target) if target is not None else None
                self.forget([one for one in self.changed_in(node) if one is not symbol])
                if target is node and symbol is not None and self._names.is_static(symbol):
                    return  # it starts with that in the first call alone
                if symbol is not None and self.is_tracked(symbol):
                    self.assign(symbol, node, environment)
            case None:
                return
            case _:
                self.forget(self.changed_in(node))

    def _branches(self, node: Any, environment: Environment) -> None:
        """Follow both branches of an if."""
        if not self.changed_in(node.iftrue, node.iffalse):
            return
        holds = self._bindings.attempt(self._affine.condition, node.cond, self.at(environment))
        before = self.known
        if holds is None:
            self.effect(node.iftrue, environment)
            then, self.known = self.known, before
            self.effect(node.iffalse, environment)
            self.meet(then, self.known)
            return
        self.effect(node.iftrue, environment.where(holds))
        then, self.known = self.known, before
        self.effect(node.iffalse, environment.where(holds.complement()))
        self.join(holds, then, self.known)

    def _loop(self, node: Any, environment: Environment) -> None:
        """Follow a loop."""
        changed = self.changed_in(node)
        if not changed:
            return

        def read(one: Any, where: Environment) -> Loop:
            """Read a loop's header."""
            return read_loop(one, where, self._bindings, self._affine, self)

        loop = self._bindings.attempt(read, node, self.at(environment))
        if loop is None:
            self.forget(changed)
            return
        self.known = self.enter(node, loop)

    def before_region(self, body: Any, begin: Any, environment: Environment) -> None:
        """Follow the code around a region up to it."""
        for item in getattr(body, "block_items", None) or ():
            if item is begin:
                return
            if not any(one is begin for one in walk(item)):
                calls = any(isinstance(one, c_ast.FuncCall) for one in walk(item))
                self.effect(item, environment)
                if calls:
                    self.forget([one for one in self.known if one.home is Home.FILE])
                continue
            if isinstance(item, c_ast.For | c_ast.While | c_ast.DoWhile):
                self.forget(self.changed_in(item))
            for one in _blocks(item):
                if any(inner is begin for inner in walk(one)):
                    self.before_region(one, begin, environment)
            return


def _joined(condition: Any, then: Value, otherwise: Value) -> Value:
    """Return what a variable holds after two branches."""
    if then is otherwise:
        return then

    def compute() -> Any:
        """Put the two pieces together."""
        first, second = then.get(), otherwise.get()
        if first is None or second is None:
            return None
        one = first.intersect_domain(condition)
        return compact(one.union_add(second.intersect_domain(condition.complement())))

    return Value(compute)


def _alike(then: Value, otherwise: Value) -> Value:
    """Return what a variable holds if it is the same after two branches."""
    if then is otherwise:
        return then

    def compute() -> Any:
        """Compare the two."""
        first, second = then.get(), otherwise.get()
        if first is None or second is None:
            return None
        domain = first.domain().union(second.domain())
        return first if domain.is_subset(first.eq_set(second)) else None

    return Value(compute)


def _assigned(node: Any) -> Any:
    """Return the expression that a statement assigns to its variable, None if there is none."""
    match node:
        case c_ast.Decl(init=init):
            return None if isinstance(init, c_ast.InitList) else init
        case c_ast.Assignment(op="="):
            return node.rvalue
        case c_ast.Assignment():
            return c_ast.BinaryOp(node.op[:-1], node.lvalue, node.rvalue, node.coord)
        case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--"):
            one = c_ast.Constant("int", "1", node.coord)
            return c_ast.BinaryOp(node.op.strip("p")[0], node.expr, one, node.coord)
        case _:
            return None


def _declarations(node: Any) -> list[Any]:
    """Return the declarations in a statement."""
    return [one for one in walk(node) if isinstance(one, c_ast.Decl)]


def _blocks(node: Any) -> list[Any]:
    """Return the blocks of a statement."""
    if isinstance(node, c_ast.Compound):
        return [node]
    return [block for _, child in node.children() for block in _blocks(child)]
