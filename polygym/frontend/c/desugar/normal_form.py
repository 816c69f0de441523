"""A region in plain form: every statement changes one thing, every loop has one counter.

Before names are resolved, what C allows to stand together is taken apart. The order of effects
stays as C has it; where C leaves it open (``x[i] = i++``), the statement is refused:

==========================================  ======================================================
``a = b = e;``                              ``b = e; a = b;``
``x[j++] = e;``                             ``x[j] = e; j += 1;``
``if ((t = e) > 0) …``                      ``t = e; if (t > 0) …``
``a = e, b = f;``                           ``a = e; b = f;``
``for (i = 0, j = n; i < j; i++, j--) …``   ``j = n; for (i = 0; i < j; i++) { … j--; }``
``for (; i < n;) { … i++; }``               ``for (i = i; i < n; i++) …``
``switch (k) { case 0: … }``                ``if (k == 0) …`` (:mod:`…desugar.switches`)
``add(n, x, y);``, ``v = 2 * total(x);``    the body of the function (:mod:`…desugar.inlining`)
``v = c ? total(x) : 0;``                   ``if (c) v = total(x); else v = 0;``
``for (; j < m && j < n[i]; j++) …``        ``if (j < n[i]) …`` inside (:mod:`…desugar.data_bounds`)
==========================================  ======================================================
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.desugar import side_effects
from polygym.frontend.c.desugar.data_bounds import DataBoundsRewriter
from polygym.frontend.c.desugar.inlining import CallInliner
from polygym.frontend.c.desugar.jumps import without_jumps
from polygym.frontend.c.desugar.memory_functions import memory_loop
from polygym.frontend.c.desugar.memory_parameters import MemoryParameters
from polygym.frontend.c.desugar.single_assignment import SingleAssignments
from polygym.frontend.c.desugar.switches import switch_as_branches, with_branches_for_jumps
from polygym.frontend.c.sema.accesses import c_text
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.initializers import initializing_statements
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion, with_statements

_Scope = dict[str, Any]
_NO_SIZES: Mapping[str, Sequence[Any]] = {}

# Calls that say something about the values of variables, and do nothing.
_IGNORED_CALLS = frozenset({"__pencil_kill", "__pencil_use", "__pencil_def"})


def desugar_region(
    tree: Any,
    region: ScopRegion,
    source: SourceMap,
    array_sizes: Mapping[str, Sequence[Any]] = _NO_SIZES,
) -> ScopRegion:
    """Return a region in plain form; its function in the tree is changed, too.

    ``array_sizes`` are sizes of arrays that are declared without them.
    """
    spelled = {token.text for token in source.tokens} | syntax.declared_names(region.function)
    calls = CallInliner(tree, source, spelled)
    scope = syntax.declarations_before(region.function, region.begin)
    outside = {decl.name: decl for decl in tree.ext if isinstance(decl, c_ast.Decl) and decl.name}
    once = SingleAssignments(tree, region, source)
    parameters = MemoryParameters(
        region.function, region.begin, outside | scope, calls.fresh_name, once
    )
    bounds = DataBoundsRewriter(region.function, outside | scope, parameters, array_sizes)
    items = with_branches_for_jumps(list(map(_with_subscripts, region.items)), source)
    items = without_jumps(items, None)
    region = with_statements(region, _Desugarer(calls, source).statements(items, scope))
    return with_statements(region, bounds.apply(list(region.items)))


def _with_subscripts(item: Any) -> Any:
    """Return a statement with ``a[i]`` for ``*(a + i)``, which C takes to be the same."""
    if not any(binary.op == "+" for binary in syntax.walk(item, c_ast.BinaryOp)):
        return item

    def replacement(node: Any) -> Any:
        """Return what stands for a node."""
        is_sum = isinstance(node, c_ast.UnaryOp) and node.op == "*"
        if not is_sum or not isinstance(node.expr, c_ast.BinaryOp) or node.expr.op != "+":
            return None
        sides = (node.expr.left, node.expr.right)
        left, right = (syntax.copy_tree(side, replacement) for side in sides)
        if not isinstance(left, c_ast.ID | c_ast.ArrayRef):
            return None
        return c_ast.ArrayRef(left, right, node.coord)

    return syntax.copy_tree(item, replacement)


class _Desugarer:
    """Takes statements apart."""

    def __init__(self, calls: CallInliner, source: SourceMap) -> None:
        self.calls = calls
        self.source = source

    def statements(self, items: Iterable[Any], scope: _Scope) -> list[Any]:
        """Return the plain statements for some; ``scope`` gets what they declare."""
        return [statement for item in items for statement in self._statement(item, scope)]

    def _statement(self, node: Any, scope: _Scope) -> list[Any]:
        """Return the plain statements for one."""
        match node:
            case c_ast.Compound():
                inner = self.statements(node.block_items or (), dict(scope))
                return [c_ast.Compound(inner, node.coord)]
            case c_ast.Label():
                return self._labelled(node, scope)
            case c_ast.If():
                return self._if(node, scope)
            case c_ast.For():
                return self._for(
                    side_effects.normalize_countdown(node, scope, self.calls.resolved), scope
                )
            case c_ast.ExprList():
                return self.statements(node.exprs, scope)
            case c_ast.DeclList():
                return self.statements(node.decls, scope)
            case c_ast.Decl():
                return self._declared(node, scope)
            case c_ast.Assignment() if self._chooses_a_call(node.rvalue):
                return self._if(_assignment_in_branches(node), scope)
            case c_ast.Assignment() | c_ast.UnaryOp(op="++" | "p++" | "--" | "p--"):
                return self._assigned(node, scope)
            case c_ast.FuncCall():
                return self._called(node, scope)
            case c_ast.TernaryOp() if syntax.acts([node.iftrue, node.iffalse]):
                branch = c_ast.If(node.cond, node.iftrue, node.iffalse, node.coord)
                return self._if(branch, scope)
            case c_ast.DoWhile() if _is_single_iteration(node):
                return self._statement(node.stmt, scope)
            case c_ast.Switch():
                lift = side_effects.SideEffectExtractor(self, scope, node.cond)
                asked = lift.read(node.cond)
                branches = switch_as_branches(
                    node, asked, lift.after, self.source, self.calls.fresh_name
                )
                return [*lift.before, *self.statements(branches, scope)]
            case c_ast.Cast() if c_text(node.to_type) == "void":
                return self._statement(node.expr, scope) if syntax.acts(node.expr) else []
            case c_ast.BinaryOp(op="&&" | "||") if syntax.acts(node.right):
                is_and = node.op == "&&"
                asked = node.left if is_and else c_ast.UnaryOp("!", node.left, node.coord)
                return self._if(c_ast.If(asked, node.right, None, node.coord), scope)
            case _:
                return [node]

    def _chooses_a_call(self, value: Any) -> bool:
        """Whether a value is one of two, of which one is called as a block is."""
        value = syntax.without_casts(value)
        return isinstance(value, c_ast.TernaryOp) and any(
            self.calls.is_call(call)
            for call in syntax.walk([value.iftrue, value.iffalse], c_ast.FuncCall)
        )

    def _labelled(self, node: Any, scope: _Scope) -> list[Any]:
        """Put a label on the last of several statements that change something."""
        result = self._statement(node.stmt, scope)
        if isinstance(node.stmt, c_ast.Assignment) and len(result) > 1:
            wanted = c_text(node.stmt.lvalue)
            place = next(
                index
                for index in reversed(range(len(result)))
                if isinstance(result[index], c_ast.Assignment)
                and (c_text(result[index].lvalue) == wanted or index == 0)
            )
        elif len(result) == 1:
            place = 0
        else:
            return [c_ast.Label(node.name, c_ast.Compound(result, node.coord), node.coord)]
        result[place] = c_ast.Label(node.name, result[place], node.coord)
        return result

    def _if(self, node: Any, scope: _Scope) -> list[Any]:
        """Take what a condition changes out of it."""
        lift = side_effects.SideEffectExtractor(self, scope, node.cond)
        condition = lift.read(node.cond)
        then = self._block(node.iftrue, scope, lift.after)
        otherwise = self._block(node.iffalse, scope, lift.after)
        if lift.after and otherwise is None:
            otherwise = c_ast.Compound(lift.after, node.coord)
        return [*lift.before, c_ast.If(condition, then, otherwise, node.coord)]

    def _block(self, node: Any, scope: _Scope, first: Sequence[Any] = ()) -> Any:
        """Return a branch or a body, with some statements in front."""
        if node is None:
            return None
        result = [*map(syntax.copy_tree, first), *self._statement(node, dict(scope))]
        return result[0] if len(result) == 1 else c_ast.Compound(result, node.coord)

    def _for(self, node: Any, scope: _Scope) -> list[Any]:
        """Give a loop one counter."""
        scope = dict(scope)
        inits = side_effects.header_parts(node.init)
        steps = side_effects.header_parts(node.next)
        body = node.stmt
        counter = self._counter(node, steps)
        if not steps and counter is not None:
            *rest, last = syntax.statements_of(body)
            steps, body = [last], c_ast.Compound(rest, body.coord)
        if counter is None:
            return [self._simple_for(node, scope)]
        mine = [init for init in inits if side_effects.initialized_name(init) == counter]
        others = [init for init in inits if side_effects.initialized_name(init) != counter]
        if len(mine) == 1 and side_effects.has_dependent_parts(mine[0], others):
            mine, others = [], inits  # all in their order, and the loop starts where it stands
        own = [step for step in steps if syntax.modified_name(step) == counter]
        after = [step for step in steps if syntax.modified_name(step) != counter]
        if len(mine) > 1 or len(own) != 1:
            return [self._simple_for(node, scope)]
        if after and syntax.contains(body, c_ast.Continue):
            raise self.source.error(node, "a loop that steps several counters has a continue")
        before = self.statements(others, scope)
        init = mine[0] if mine else None
        if init is None:
            name = next(name for name in syntax.walk(own[0], c_ast.ID) if name.name == counter)
            init = c_ast.Assignment("=", syntax.copy_tree(name), syntax.copy_tree(name), name.coord)
        elif isinstance(init, c_ast.Decl):
            scope[init.name] = init
        init, first = self._start(init, scope)
        lift = side_effects.SideEffectExtractor(self, scope, node.cond)
        condition = None if node.cond is None else lift.read(node.cond)
        if lift.before or lift.after:
            raise self.source.error(
                node.cond, "a loop's condition that changes something is not supported"
            )
        inside = self._block(body, scope)
        if after:
            inside = c_ast.Compound([inside, *self.statements(after, dict(scope))], node.coord)
        loop = c_ast.For(init, condition, own[0], inside, node.coord)
        if not before and not first:
            return [loop]
        return [c_ast.Compound([*before, *first, loop], node.coord)]

    def _start(self, init: Any, scope: _Scope) -> tuple[Any, list[Any]]:
        """Take what the first value of a counter changes or calls out of it."""
        value = init.init if isinstance(init, c_ast.Decl) else init.rvalue
        if value is None:
            return c_ast.DeclList([init], init.coord), []
        lift = side_effects.SideEffectExtractor(self, scope, value)
        new = lift.read(value)
        if lift.after:
            raise self.source.error(value, "++ inside an expression is a side effect")
        if isinstance(init, c_ast.Decl):
            init = syntax.copy_tree(init)
            init.init = new
            return c_ast.DeclList([init], init.coord), lift.before
        return c_ast.Assignment("=", init.lvalue, new, init.coord), lift.before

    def _simple_for(self, node: Any, scope: _Scope) -> Any:
        """Leave the header as it is."""
        if isinstance(node.init, c_ast.DeclList):
            scope |= {decl.name: decl for decl in node.init.decls}
        inside = self._block(node.stmt, scope)
        return c_ast.For(node.init, node.cond, node.next, inside, node.coord)

    def _counter(self, node: Any, steps: Sequence[Any]) -> str | None:
        """Return the one variable that a loop changes and asks about."""
        if node.cond is None:
            return None
        asked = syntax.names_in(node.cond)
        if not steps:
            steps = syntax.statements_of(node.stmt)[-1:]
            if not steps or not syntax.is_modification(steps[0]):
                return None
            roots = syntax.modified_roots(node.stmt)
            changed = [root.name for root in roots if isinstance(root, c_ast.ID)]
            if changed.count(syntax.modified_name(steps[0])) != 1:
                return None
        stepped = [name for name in map(syntax.modified_name, steps) if name in asked]
        starts = map(side_effects.initialized_name, side_effects.header_parts(node.init))
        started = [name for name in starts if name in stepped]
        choice = started if len(stepped) > 1 and len(started) == 1 else stepped
        operators = {binary.op for binary in syntax.walk(node.cond, c_ast.BinaryOp)}
        if operators.isdisjoint({"&&", "||"}):
            choice = choice[:1]  # one counts, the other's value is known by it
        return choice[0] if len(choice) == 1 else None

    def _declared(self, node: Any, scope: _Scope) -> list[Any]:
        """Take what an initialiser changes or calls out of it; a constant may be set each time."""
        if syntax.is_static_constant(node):
            node = syntax.copy_tree(node)
            node.storage = [specifier for specifier in node.storage if specifier != "static"]
        if node.name:
            scope[node.name] = node
        if isinstance(node.init, c_ast.InitList):
            return self._listed(node)
        if self._chooses_a_call(node.init):
            scope[node.name] = bare = syntax.declaration(node.name, node.type, None, node)
            target = c_ast.ID(node.name, node.coord)
            assigned = c_ast.Assignment("=", target, node.init, node.coord)
            return [bare, *self._statement(assigned, scope)]
        if node.init is None:
            return [node]
        lift = side_effects.SideEffectExtractor(self, scope, node.init)
        value = lift.read(node.init)
        if not lift.before and not lift.after:
            new = syntax.copy_tree(node)
            new.init = value
            scope[node.name] = new
            return [new]
        bare = syntax.declaration(node.name, node.type, None, node)
        scope[node.name] = bare
        target = c_ast.ID(node.name, node.coord)
        assigned = c_ast.Assignment("=", target, value, node.coord)
        return [bare, *lift.before, assigned, *lift.after]

    def _listed(self, node: Any) -> list[Any]:
        """Assign the elements of an array that an initialiser lists."""
        if any(side_effects.has_side_effect(expr, self.calls) for expr in node.init.exprs):
            return [node]
        result = initializing_statements(node, self.calls.fresh_name)
        return [node] if result is None else result

    def _assigned(self, node: Any, scope: _Scope) -> list[Any]:
        """Take an assignment apart."""
        lift = side_effects.SideEffectExtractor(self, scope, node)
        if isinstance(node, c_ast.UnaryOp):
            target = lift.read_target(node.expr)
            return [*lift.before, c_ast.UnaryOp(node.op, target, node.coord), *lift.after]
        target = lift.read_target(node.lvalue)
        value = lift.read(node.rvalue, is_whole=True)
        new = c_ast.Assignment(node.op, target, value, node.coord)
        return [*lift.before, new, *lift.after]

    def _called(self, node: Any, scope: _Scope) -> list[Any]:
        """Put the body of a function in the place of a call whose value is not used."""
        if getattr(node.name, "name", "") in _IGNORED_CALLS:
            return []
        loop = memory_loop(
            node, self.calls.seen_with(scope), self.calls.resolved, self.calls.fresh_name
        )
        if loop is not None and not self.calls.is_known(node):
            return self._statement(loop, scope)
        is_pure = self.calls.is_pure(node)
        if not is_pure and not self.calls.is_call(node):
            return [node]
        lift = side_effects.SideEffectExtractor(self, scope, node)
        call = syntax.with_operands(node, list(map(lift.read, syntax.operands_of(node))))
        # The value of a pure function is not used; its arguments may have effects.
        blocks = [] if is_pure else [self.inlined_block(call, None, scope)]
        return [*lift.before, *blocks, *lift.after]

    def inlined_block(self, call: Any, result: str | None, scope: _Scope) -> Any:
        """Return the plain block of a call."""
        with self.calls.recursion_guard(call):
            block = self.calls.inlined_block(call, result, scope)
            return c_ast.Compound(self.statements(block.block_items, dict(scope)), call.coord)


def _assignment_in_branches(node: Any) -> Any:
    """Return ``if (c) x = (T)a; else x = (T)b;`` for ``x = (T)(c ? a : b);``."""
    chosen = syntax.without_casts(node.rvalue)

    def assigned(value: Any) -> Any:
        def replacement(part: Any) -> Any:
            return value if part is chosen else None

        rvalue = syntax.copy_tree(node.rvalue, replacement)
        return c_ast.Assignment(node.op, syntax.copy_tree(node.lvalue), rvalue, node.coord)

    return c_ast.If(chosen.cond, assigned(chosen.iftrue), assigned(chosen.iffalse), node.coord)


def _is_single_iteration(node: Any) -> bool:
    """Whether a loop is ``do { … } while (0)``, which macros are made of."""
    return syntax.is_zero(node.cond) and not syntax.contains(node.stmt, c_ast.Break, c_ast.Continue)
