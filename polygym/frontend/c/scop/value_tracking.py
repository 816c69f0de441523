"""Values of integer variables, as functions of parameters and counters, while a region is read.

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
statements, unless nothing reads the variable. Values are computed when they are asked for.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pycparser import c_ast

from polygym.errors import SourceError
from polygym.frontend.c.scop import scalar_evolution
from polygym.frontend.c.scop.loop_domains import AffineLoop, read_loop
from polygym.frontend.c.sema.affine import AffineReader
from polygym.frontend.c.sema.bindings import Bindings, ExpressionEnvironment, LazyValue
from polygym.frontend.c.sema.symbols import DeclarationScope, Symbol, UseKind
from polygym.frontend.c.source import syntax


class ValueTracker:
    """Follows what variables hold."""

    def __init__(self, bindings: Bindings, affine: AffineReader) -> None:
        """Start where nothing is known."""
        self.bindings = bindings
        self._affine = affine
        self._names = bindings.names
        self._tracked: dict[Symbol, bool] = {}
        self._changes: dict[int, tuple[Any, list[Symbol]]] = {}
        self._exposed: set[Symbol] = set()
        self.known: Mapping[Symbol, LazyValue] = {}

    def enter_region(self, items: Sequence[Any]) -> None:
        """Say what the region consists of."""
        read = {
            symbol
            for item in items
            for symbol in syntax.read_outside_loops(item, self._names.symbol_of, self._counter)
        }
        self._exposed = set(filter(self._names.iterates_in_region, read))
        self._tracked.clear()
        self._changes.clear()

    def _counter(self, loop: Any) -> Symbol | None:
        """Return the counter of a loop."""
        match loop.init:
            case c_ast.Assignment(lvalue=target) | c_ast.DeclList(decls=[target]):
                return self._names.symbol_of(target)
            case _:
                return None

    def environment_with_values(self, environment: ExpressionEnvironment) -> ExpressionEnvironment:
        """Return an environment in which what is known now can be read."""
        if environment.known_values is self.known or not (environment.known_values or self.known):
            return environment
        return replace(environment, known_values=self.known, cache={})

    def is_tracked(self, symbol: Symbol | None) -> bool:
        """Whether a variable's value is followed: an integer whose address is not taken."""
        if symbol is None or not isinstance(symbol.declaration, c_ast.Decl):
            return False
        if symbol not in self._tracked:
            self._tracked[symbol] = self._can_be_tracked(symbol)
        return self._tracked[symbol]

    def _can_be_tracked(self, symbol: Symbol) -> bool:
        changes = self._names.assignments(symbol)
        if any(change.kind is UseKind.ADDRESS for change in changes):
            return False
        if not changes and not self.bindings.reads_modified(symbol):
            return False
        counts = bool(changes) and all(change.kind is UseKind.ITERATE for change in changes)
        if counts and symbol not in self._exposed:
            return False
        try:
            shape = self.bindings.shape(symbol, symbol.declaration)
        except SourceError:
            return False
        return shape.type.is_integer and not shape.sizes and not shape.is_pointer

    # What statements do.

    def assign(self, symbol: Symbol, node: Any, environment: ExpressionEnvironment) -> None:
        """Follow ``k = e``, ``k += e`` or ``k++``; ``node`` is the statement or declaration."""
        scalar = self.bindings.shape(symbol, symbol.declaration).type
        role = f"the value of {symbol.name}"
        environment = self.environment_with_values(environment).with_role(role)
        expression = syntax.assigned_value(node)
        if expression is None:
            self.invalidate([symbol])
            return
        self.bindings.bind_names(expression, symbol)

        def compute() -> Any:
            """Read the value, if it is affine."""
            reader = self._affine.expression
            result = self.bindings.read_if_possible(reader, expression, environment)
            if result is None or result.n_piece() > scalar_evolution.MAX_PIECES:
                return None
            return self._affine.converted_on_assignment(result, expression, scalar, environment)

        self.known = {**self.known, symbol: LazyValue(compute)}

    def invalidate(self, symbols: Sequence[Symbol]) -> None:
        """Know no longer what some variables hold."""
        if any(symbol in self.known for symbol in symbols):
            self.known = {s: v for s, v in self.known.items() if s not in symbols}

    def join(
        self,
        condition: Any,
        then: Mapping[Symbol, LazyValue],
        otherwise: Mapping[Symbol, LazyValue],
    ) -> None:
        """Know what is known after both branches of an affine condition."""
        if then is otherwise:
            self.known = then
            return
        combine = partial(_joined, condition)
        both = [symbol for symbol in then if symbol in otherwise]
        self.known = {s: _merged(then[s], otherwise[s], combine) for s in both}

    def meet(self, then: Mapping[Symbol, LazyValue], otherwise: Mapping[Symbol, LazyValue]) -> None:
        """Know what both branches of a condition on data leave alike."""
        both = [symbol for symbol in then if symbol in otherwise]
        self.known = {s: _merged(then[s], otherwise[s], _equal_value) for s in both}

    def modified_in(self, *nodes: Any) -> list[Symbol]:
        """Return the followed variables that statements change."""
        return list(dict.fromkeys(symbol for node in nodes for symbol in self._changed(node)))

    def _changed(self, node: Any) -> list[Symbol]:
        """Return the followed variables that a statement changes, as found the first time."""
        if node is None:
            return []
        if id(node) not in self._changes:
            self._changes[id(node)] = node, self._changed_anew(node)
        return self._changes[id(node)][1]

    def _changed_anew(self, node: Any) -> list[Symbol]:
        """Return the followed variables that a statement changes."""
        symbols = dict.fromkeys(map(self._changed_symbol, syntax.walk(node)))
        return [symbol for symbol in symbols if symbol is not None and self.is_tracked(symbol)]

    def _changed_symbol(self, node: Any) -> Symbol | None:
        """Return the variable that a node changes or declares."""
        target = node if isinstance(node, c_ast.Decl) else None
        target = syntax.target_of(node) if syntax.is_modification(node) else target
        return self._names.symbol_of(target)

    def loop_carried(self, node: Any) -> Collection[Symbol]:
        """Return the followed variables that a loop's body changes."""
        return self.modified_in(node.stmt)

    def iteration_start(self, node: Any, loop: AffineLoop) -> Mapping[Symbol, LazyValue]:
        """Return what is known when an iteration of a loop starts; its end is not known yet."""
        before = self.known
        self.enter_loop(node, loop)
        starts, self.known = self.known, before
        return starts

    def enter_loop(self, node: Any, loop: AffineLoop) -> Mapping[Symbol, LazyValue]:
        """Know what is known at the start of a loop's body; return what is known behind it."""
        before = self.known
        changed = [symbol for symbol in self.modified_in(node.stmt) if symbol is not loop.symbol]
        declared = set(map(id, syntax.walk(node.stmt, c_ast.Decl)))
        carried = [symbol for symbol in changed if id(symbol.declaration) not in declared]
        kept = {s: v for s, v in before.items() if s not in changed and s is not loop.symbol}
        after = dict(kept)
        starts: dict[Symbol, LazyValue] = {}
        if carried:
            solved = scalar_evolution.ScalarEvolution(self, node, loop, carried, before)
            for symbol in carried:
                starts[symbol] = LazyValue(partial(solved.start, symbol))
                after[symbol] = LazyValue(partial(solved.end, symbol))
        if self.is_tracked(loop.symbol):
            after[loop.symbol] = LazyValue(partial(scalar_evolution.exit_value, loop))
        self.known = {**kept, **starts}
        return after

    # A walk that only follows values.

    def apply_effect(self, node: Any, environment: ExpressionEnvironment) -> None:
        """Follow what a statement does, without making anything of it."""
        match node:
            case c_ast.Compound(block_items=items) | c_ast.DeclList(decls=items):
                for item in items or ():
                    self.apply_effect(item, environment)
            case c_ast.Label():
                self.apply_effect(node.stmt, environment)
            case c_ast.If():
                self._branches(node, environment)
            case c_ast.For():
                self._loop(node, environment)
            case c_ast.Decl() | c_ast.Assignment() | c_ast.UnaryOp():
                symbol = self._changed_symbol(node)
                self.invalidate([other for other in self.modified_in(node) if other is not symbol])
                if symbol is None or not self.is_tracked(symbol):
                    return
                if isinstance(node, c_ast.Decl) and self._names.is_static(symbol):
                    return  # it starts with that in the first call alone
                self.assign(symbol, node, environment)
            case None:
                return
            case _:
                self.invalidate(self.modified_in(node))

    def _branches(self, node: Any, environment: ExpressionEnvironment) -> None:
        """Follow both branches of an if."""
        if not self.modified_in(node.iftrue, node.iffalse):
            return
        now = self.environment_with_values(environment)
        holds = self.bindings.read_if_possible(self._affine.condition, node.cond, now)
        before, first, second = self.known, environment, environment
        if holds is not None:
            first = environment.restricted_to(holds)
            second = environment.restricted_to(holds.complement())
        self.apply_effect(node.iftrue, first)
        then, self.known = self.known, before
        self.apply_effect(node.iffalse, second)
        if holds is None:
            self.meet(then, self.known)
        else:
            self.join(holds, then, self.known)

    def _loop(self, node: Any, environment: ExpressionEnvironment) -> None:
        """Follow a loop."""
        changed = self.modified_in(node)
        if not changed:
            return

        def read(loop_node: Any, where: ExpressionEnvironment) -> AffineLoop:
            """Read a loop's header."""
            return read_loop(loop_node, where, self.bindings, self._affine, self)

        now = self.environment_with_values(environment)
        loop = self.bindings.read_if_possible(read, node, now)
        if loop is None:
            self.invalidate(changed)
            return
        self.known = self.enter_loop(node, loop)

    def enter_function(self, body: Any, begin: Any, environment: ExpressionEnvironment) -> None:
        """Follow the code around a region up to it."""
        for item in getattr(body, "block_items", None) or ():
            if item is begin:
                return
            if not syntax.contains_node(item, begin):
                self.apply_effect(item, environment)
                if syntax.contains(item, c_ast.FuncCall):
                    outside = [s for s in self.known if s.scope is DeclarationScope.FILE]
                    self.invalidate(outside)
                continue
            if isinstance(item, c_ast.For | c_ast.While | c_ast.DoWhile):
                self.invalidate(self.modified_in(item))
            for block in _blocks(item):
                if syntax.contains_node(block, begin):
                    self.enter_function(block, begin, environment)
            return


def _merged(then: LazyValue, otherwise: LazyValue, combine: Callable[[Any, Any], Any]) -> LazyValue:
    """Return what a variable holds after two branches: what they leave, combined."""
    if then is otherwise:
        return then

    def compute() -> Any:
        first, second = then.compute(), otherwise.compute()
        return None if first is None or second is None else combine(first, second)

    return LazyValue(compute)


def _joined(condition: Any, first: Any, second: Any) -> Any:
    """Return the value that is the first where a condition holds, the second elsewhere."""
    other = second.intersect_domain(condition.complement())
    return scalar_evolution.within_piece_limit(first.intersect_domain(condition).union_add(other))


def _equal_value(first: Any, second: Any) -> Any:
    """Return the value that both are, None where they differ."""
    domain = first.domain().union(second.domain())
    return first if domain.is_subset(first.eq_set(second)) else None


def _blocks(node: Any) -> list[Any]:
    """Return the blocks of a statement."""
    if isinstance(node, c_ast.Compound):
        return [node]
    return [block for _, child in node.children() for block in _blocks(child)]
