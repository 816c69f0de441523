"""The region's statements: a walk over the syntax tree that collects instances and their order.

Every assignment becomes a :class:`StatementDraft`: the loops around it, the set of its instances,
the element it writes and the expression it stores. The order of execution is written down on the
way in the "2d + 1" form: the position among its neighbours, a loop's counter, the position inside
that loop, and so on, the counter negated where the loop runs downwards::

    for (i = 0; i < n; i++) {
    S:  x[i] = 0;                        S[i]    -> [0, i, 0]
        for (j = n - 1; j >= 0; j--)
    T:    x[i] += A[i][j];               T[i, j] -> [0, i, 1, -j, 0]
    }
"""

from collections.abc import Iterator as Iterable
from dataclasses import dataclass, replace
from typing import Any

from pycparser import c_ast

from polygym.errors import SourceLocation
from polygym.frontend.c.desugar.inlining import SAME_SIZE_CHECK
from polygym.frontend.c.scop.loop_domains import read_loop, refuse_counter_assignment
from polygym.frontend.c.scop.value_tracking import ValueTracker
from polygym.frontend.c.sema.accesses import alias_message, c_text, pointer_arithmetic_error
from polygym.frontend.c.sema.affine import AffineReader
from polygym.frontend.c.sema.arithmetic import convert_to_type
from polygym.frontend.c.sema.assumptions import ASSUMPTION_FUNCTIONS
from polygym.frontend.c.sema.bindings import Bindings, ExpressionEnvironment
from polygym.frontend.c.sema.diagnostics import unsupported_statement
from polygym.frontend.c.sema.expressions import DataCondition, ExpressionReader
from polygym.frontend.c.sema.symbols import DeclarationScope, Symbol
from polygym.frontend.c.source.syntax import is_modification, modified_roots, walk
from polygym.ir.expressions import Access, Expression, IntegerLiteral, Load


@dataclass(frozen=True, slots=True)
class TimestampEntry:
    """One entry of a time stamp: a constant, or a counter with its direction."""

    constant: int = 0
    iterator: str = ""
    is_increasing: bool = True

    def __str__(self) -> str:
        """Render as isl text."""
        if not self.iterator:
            return str(self.constant)
        return self.iterator if self.is_increasing else f"-{self.iterator}"


@dataclass(frozen=True, slots=True, eq=False)
class StatementDraft:
    """A statement before it has its final texts; accesses bear the marks of their touches.

    Where the ``condition`` holds, or is None, it stores ``value``, otherwise what was there before:
    ``old_value``, which is None where it is not needed. ``subscripts`` are those of the write that
    are computed. ``label`` is the innermost one above it, which other statements may share.
    """

    label: str
    number: int
    environment: ExpressionEnvironment
    time: tuple[TimestampEntry, ...]
    write: Access
    value: Expression
    source_accesses: range
    text: str
    location: SourceLocation
    condition: Expression | None = None
    old_value: Expression | None = None
    subscripts: tuple[Expression, ...] = ()
    tracked_symbol: Symbol | None = None  # the integer that is assigned, if its value is known


@dataclass(frozen=True, slots=True)
class _WalkState:
    """Where the walk stands: what surrounds it, the time so far, and a label to be used.

    ``data_conditions`` are the conditions on data around it, outermost first.
    """

    environment: ExpressionEnvironment
    time: tuple[TimestampEntry, ...] = ()
    label: str = ""
    data_conditions: tuple[DataCondition, ...] = ()


class StatementExtractor:
    """Walks a region."""

    def __init__(
        self,
        bindings: Bindings,
        affine: AffineReader,
        expressions: ExpressionReader,
        values: ValueTracker,
    ) -> None:
        """Keep the readers, and what follows the values of variables."""
        self._bindings = bindings
        self._affine = affine
        self._expressions = expressions
        self._source = bindings.source
        self._values = values
        self._labels: set[str] = set()
        self._number = 0
        self.current: Any = None
        self.declared: list[Symbol] = []
        self.drafts: list[StatementDraft] = []

    def region(self, items: tuple[Any, ...], environment: ExpressionEnvironment) -> None:
        """Walk a whole region."""
        self._sequence(items, _WalkState(environment))
        self._drop_unread()

    def _drop_unread(self) -> None:
        """Drop the assignments to variables whose value was always known where it was read."""
        read = {
            self._expressions.touches[index].symbol
            for draft in self.drafts
            for index in draft.source_accesses[1:]
            if self._expressions.touches[index].symbol is not draft.tracked_symbol
        }
        names = self._bindings.names

        def is_dead(symbol: Symbol | None) -> bool:
            """Whether nothing reads a variable."""
            if symbol is None or symbol in read:
                return False
            if symbol.scope is DeclarationScope.FILE or "static" in symbol.declaration.storage:
                return False
            return symbol.scope is DeclarationScope.REGION or not names.is_used_after(symbol)

        self.drafts = [draft for draft in self.drafts if not is_dead(draft.tracked_symbol)]

    def _sequence(self, items: Any, spot: _WalkState) -> None:
        """Walk what stands in a loop's body (or the region), one position after the other."""
        for position, (item, inner) in enumerate(self._leaf_statements(items, spot)):
            moment = replace(inner, time=(*inner.time, TimestampEntry(position)))
            self._timed(item, moment)

    def _leaf_statements(self, items: Any, spot: _WalkState) -> Iterable[tuple[Any, _WalkState]]:
        """Yield loops and assignments, through blocks, ifs and labels, each with its spot."""
        for item in items:
            self.current = item
            match item:
                case None | c_ast.EmptyStatement() | c_ast.Typedef():
                    continue
                case c_ast.Compound():
                    yield from self._leaf_statements(item.block_items or [], spot)
                case c_ast.Label():
                    yield from self._leaf_statements([item.stmt], self._labelled(item, spot))
                case c_ast.If():
                    yield from self._branches(item, spot)
                case c_ast.DeclList():
                    yield from self._leaf_statements(item.decls, spot)
                case c_ast.Decl():
                    environment = self._values.environment_with_values(spot.environment)
                    if self._needs_statement(item, environment):
                        yield item, spot
                case c_ast.ExprList() | c_ast.For() | c_ast.Assignment() | c_ast.UnaryOp():
                    yield item, spot
                case c_ast.Pragma():
                    raise self._source.error(item, "a pragma here is not supported")
                case c_ast.FuncCall(name=c_ast.ID(name=name)) if name == SAME_SIZE_CHECK:
                    self._check_sizes(item, spot.environment)
                case c_ast.FuncCall():
                    self._refuse_call(item)
                case _:
                    raise self._source.error(item, *unsupported_statement(item))

    def _labelled(self, node: Any, spot: _WalkState) -> _WalkState:
        """Take a label's name for the statements under it."""
        if node.name in self._labels:
            raise self._source.error(node, f"the label {node.name} stands twice in the function")
        self._labels.add(node.name)
        return replace(spot, label=node.name)

    def _branches(self, node: Any, spot: _WalkState) -> Iterable[tuple[Any, _WalkState]]:
        """Yield what stands under an if, each branch where its condition holds."""
        environment = self._values.environment_with_values(spot.environment)
        role = environment.with_role("the condition of an if")
        holds = self._bindings.read_if_possible(self._affine.condition, node.cond, role)
        if holds is None:
            yield from self._guarded(node, spot)
            return
        before = self._values.known
        if node.iftrue is not None:
            inner = replace(spot, environment=environment.restricted_to(holds))
            yield from self._leaf_statements([node.iftrue], inner)
        then, self._values.known = self._values.known, before
        if node.iffalse is not None:
            other = environment.restricted_to(holds.complement())
            inner = replace(spot, environment=other)
            yield from self._leaf_statements([node.iffalse], inner)
        self._values.join(holds, then, self._values.known)

    def _guarded(self, node: Any, spot: _WalkState) -> Iterable[tuple[Any, _WalkState]]:
        """Yield what stands under an if on data: every statement decides for itself.

        Where the branches change what the condition reads, it is computed once, before them. One
        assignment alone, ``if (a[i] > m) m = a[i];``, has read it by the time when it stores.
        """
        names = self._bindings.names
        condition, before = node.cond, self._values.known
        read = set(map(names.symbol_of, walk(condition, c_ast.ID)))
        changed = set(map(names.symbol_of, modified_roots([node.iftrue, node.iffalse])))
        if (read & changed) - {None} and not _is_one_assignment(node):
            condition = self._bindings.new_variable("holds", condition)
            zero = c_ast.Constant("int", "0", node.cond.coord)
            truth = c_ast.BinaryOp("!=", node.cond, zero, node.cond.coord)
            yield c_ast.Assignment("=", condition, truth, node.cond.coord), replace(spot, label="")
        environment = self._values.environment_with_values(spot.environment)
        left = []
        environments = self._expressions.branch_environments(node.cond, environment)
        for is_else, branch in enumerate((node.iftrue, node.iffalse)):
            self._values.known = before
            if branch is not None:
                guard = DataCondition(condition, environment, bool(is_else))
                inner = replace(
                    spot,
                    environment=environments[is_else],
                    data_conditions=(*spot.data_conditions, guard),
                )
                yield from self._leaf_statements([branch], inner)
            left.append(self._values.known)
        self._values.meet(*left)

    def _check_sizes(self, node: Any, environment: ExpressionEnvironment) -> None:
        """Refuse an array argument whose inner sizes are not those of the array it is given."""
        *sizes, array = node.args.exprs
        role = environment.with_role(f"a size of {array.name}")
        values = [self._affine.expression(size, role) for size in sizes]
        if len(values) != 2 or not environment.domain.is_subset(values[0].eq_set(values[1])):
            raise self._source.error(
                node,
                f"{array.name} is given to a function that takes its rows to be of another length",
                "declare both with the same inner sizes",
            )

    def _refuse_call(self, node: Any) -> None:
        """Refuse a call as a statement."""
        name = getattr(node.name, "name", "a function")
        if name in ASSUMPTION_FUNCTIONS:
            raise self._source.error(
                node, f"{name} is only understood before the region and at its start"
            )
        raise self._source.error(
            node,
            f"{name} has no body here",
            f"move it out of the region, or write the body of {name}",
        )

    def _timed(self, item: Any, spot: _WalkState) -> None:
        """Walk a loop or an assignment at its position."""
        self.current = item
        match item:
            case c_ast.For():
                self._loop(item, spot)
            case c_ast.Decl():
                self._store(item, c_ast.ID(item.name, item.coord), "=", item.init, spot)
            case c_ast.Assignment():
                self._store(item, item.lvalue, item.op, item.rvalue, spot)
            case c_ast.UnaryOp() if is_modification(item):
                constant = c_ast.Constant("int", "1", item.coord)
                self._store(item, item.expr, f"{item.op.strip('p')[0]}=", constant, spot)
            case c_ast.ExprList():
                raise self._source.error(item, "the comma operator is not supported")
            case _:
                raise self._source.error(item, "this statement has no effect")

    def _loop(self, node: Any, spot: _WalkState) -> None:
        """Walk a loop."""
        environment = self._values.environment_with_values(spot.environment)
        loop = read_loop(node, environment, self._bindings, self._affine, self._values)
        entry = TimestampEntry(iterator=loop.iterator.name, is_increasing=loop.is_increasing)
        inner = replace(spot, environment=loop.body_environment, time=(*spot.time, entry))
        after = self._values.enter_loop(node, loop)
        self._sequence([node.stmt], inner)
        self._values.known = after

    def _needs_statement(self, node: Any, environment: ExpressionEnvironment) -> bool:
        """Enter a declaration of the region; return whether its initialiser is an assignment."""
        if node.name is None or isinstance(node.type, c_ast.FuncDecl):
            return False
        symbol = self._bindings.names.symbol_of(node)
        assert symbol is not None
        if set(node.storage) & {"static", "extern"}:
            raise self._source.error(
                node, f"{node.name} keeps its value from one run of the region to the next"
            )
        shape = self._bindings.shape(symbol, node)
        if shape.is_pointer:
            raise self._source.error(node, *alias_message(node.name))
        self.declared.append(symbol)
        if node.init is None:
            return False
        if shape.sizes or isinstance(node.init, c_ast.InitList):
            raise self._source.error(node.init, "initialiser lists are not supported")
        return not self._bindings.is_alias(symbol, shape, environment, self._affine.expression)

    def _store(self, node: Any, target: Any, operator: str, operand: Any, spot: _WalkState) -> None:
        """Draft a statement: an assignment, a compound assignment, ++, -- or an initialiser."""
        environment = self._values.environment_with_values(spot.environment)
        begin = len(self._expressions.touches)
        if isinstance(node, c_ast.Decl):
            symbol = self._bindings.names.symbol_of(node)
            assert symbol is not None
            self._bindings.names.symbols[id(target)] = symbol
        self._check_target(target, environment, starts=isinstance(node, c_ast.Decl))
        followed = self._followed(target, node, environment)
        if followed is not None and self._bindings.names.iterates_in_region(followed):
            return
        write = self._expressions.record_access(target, environment)
        value = self._expressions.value(operand, environment)
        if operator != "=":
            read = self._expressions.record_access(target, environment).value
            value = self._expressions.combine(node, operator[:-1], read, value)
        old: Expression | None = None
        if isinstance(node, c_ast.Decl) or self._bindings.is_introduced(target):
            old = convert_to_type(IntegerLiteral(0), write.type)  # its life begins here
        elif spot.data_conditions or write.subscripts:
            old = Load(self._expressions.record_again(write.source_access), write.type)
        self.drafts.append(
            StatementDraft(
                label=spot.label,
                number=self._number,
                environment=environment,
                time=spot.time,
                write=write.access,
                condition=self._expressions.conjunction(spot.data_conditions, environment),
                value=convert_to_type(value, write.type),
                old_value=old,
                subscripts=write.subscripts,
                source_accesses=range(begin, len(self._expressions.touches)),
                text=self._source.statement_text(node) or f"{c_text(node)};",
                location=self._source.location(node),
                tracked_symbol=followed,
            )
        )
        self._number += 1

    def _followed(
        self, target: Any, node: Any, environment: ExpressionEnvironment
    ) -> Symbol | None:
        """Follow the value of an integer variable that is assigned; None for anything else.

        The counter of a loop has no memory: what it is assigned outside its loop must be known.
        """
        symbol = self._bindings.names.symbol_of(target) if isinstance(target, c_ast.ID) else None
        if symbol is None or not self._values.is_tracked(symbol):
            return None
        self._values.assign(symbol, node, environment)
        if self._bindings.names.iterates_in_region(symbol):
            value = self._values.known.get(symbol)
            if value is None or value.compute() is None:
                raise self._source.error(
                    target,
                    f"{symbol.name} counts a loop of the region and is assigned a value that is "
                    "not affine",
                )
        return symbol

    def _check_target(
        self, target: Any, environment: ExpressionEnvironment, *, starts: bool
    ) -> None:
        """Refuse assignments to anything but an array element or a scalar in memory.

        A target that ``starts`` its life here, by its initialiser, may be const.
        """
        base = target
        while isinstance(base, c_ast.ArrayRef) or (
            isinstance(base, c_ast.UnaryOp) and base.op == "*"
        ):
            base = base.name if isinstance(base, c_ast.ArrayRef) else base.expr
        if base is not target and isinstance(base, (c_ast.BinaryOp, c_ast.UnaryOp, c_ast.Cast)):
            raise pointer_arithmetic_error(target, self._bindings)
        if not isinstance(base, c_ast.ID):
            raise self._source.error(target, "this cannot be assigned to here")
        symbol = self._bindings.names.symbol_of(base)
        if symbol is None:
            raise self._source.error(base, f"{base.name} is not declared")
        refuse_counter_assignment(symbol, base, environment, self._bindings)
        if not starts and "const" in getattr(symbol.declaration, "quals", ()):
            raise self._source.error(base, f"{base.name} is const")


def _is_one_assignment(node: Any) -> bool:
    """Whether an if without an else has one assignment under it."""
    branch = node.iftrue
    while isinstance(branch, c_ast.Compound) and len(branch.block_items or ()) == 1:
        (branch,) = branch.block_items
    is_assignment = isinstance(branch, c_ast.Assignment) or (
        isinstance(branch, c_ast.UnaryOp) and is_modification(branch)
    )
    return is_assignment and node.iffalse is None
