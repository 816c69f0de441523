"""Side effects taken out of an expression: the statements before it, and those after it.

``x[i] = (t = e) + f(j++)`` becomes ``t = e;`` and the body of f before, ``j += 1;`` behind, and
between them an expression without effects. What may not be evaluated, an arm of ``?:`` or the right
of ``&&``, is refused if it has an effect.

Headers of loops: their parts, ``for (i = 0, j = n; …; i++, j--)``, and counting down in one.

In ``for (i = n; i-- > 0;)``, as unsigned counters need it, the body sees the counter after it was
decremented, and so does what is behind the loop. With the decremented value from the start, in the
counter's own type T, that is the usual form::

    for (i = n; i-- > e;) …        →        for (i = (T) n - 1; i + 1 > e; i--) …

For an unsigned T, i + 1 is 0 where i has wrapped around, as the value before it was. A type
narrower than int is left alone: its i + 1 would not wrap around.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from pycparser import c_ast

from polygym.frontend.c.desugar.inlining import CallInliner
from polygym.frontend.c.sema.accesses import c_text
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.syntax import (
    base_and_subscripts,
    cast_node,
    contains,
    copy_tree,
    declaration,
    integer_node,
    is_modification,
    modified_name,
    modified_roots,
    names_in,
    operands_of,
    walk,
    with_operands,
)

_WIDE = frozenset({"int", "long", "unsigned", "signed", "size_t", "int64_t", "uint64_t"})


def has_dependent_parts(part: Any, others: list[Any]) -> bool:
    """Whether one of several parts of a loop's start reads what another one sets."""
    started = {initialized_name(other) for other in others}
    return bool(names_in(part) & started) or initialized_name(part) in names_in(others)


def header_parts(node: Any) -> list[Any]:
    """Return the parts of a loop's header."""
    match node:
        case None:
            return []
        case c_ast.ExprList():
            return list(node.exprs)
        case c_ast.DeclList():
            return list(node.decls)
        case _:
            return [node]


def initialized_name(node: Any) -> str | None:
    """Return the name of the variable that a part of a loop's first part gives a value."""
    if isinstance(node, c_ast.Decl):
        name: str = node.name
        return name
    return modified_name(node) if isinstance(node, c_ast.Assignment) and node.op == "=" else None


def normalize_countdown(node: Any, scope: Mapping[str, Any], resolved: Callable[[Any], Any]) -> Any:
    """Return a loop that counts down in its condition in the usual form, others as they are.

    ``scope`` has the declarations seen there; ``resolved`` follows the names of types.
    """
    comparison = _decrementing_comparison(node.cond) if node.next is None else None
    if comparison is None:
        return node
    counter, operator, bound = comparison
    match node.init:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name)) if name == counter.name:
            declared, value = scope.get(name), node.init.rvalue
        case c_ast.DeclList(decls=[c_ast.Decl(name=name) as declared]) if name == counter.name:
            value = declared.init
        case _:
            return node
    kind = getattr(declared, "type", None)
    if value is None or not _is_wide(resolved(kind)):
        return node
    if isinstance(node.cond, c_ast.UnaryOp) and not _is_unsigned(resolved(kind)):
        operator = ">"  # a signed counter that starts below 0 overflows, which C leaves undefined
    one = integer_node(1, node)
    first = c_ast.BinaryOp("-", cast_node(value, kind, node), one, node.coord)
    if isinstance(node.init, c_ast.Assignment):
        init: Any = c_ast.Assignment("=", node.init.lvalue, first, node.init.coord)
    else:
        init = c_ast.DeclList([declaration(name, kind, first, declared)], node.init.coord)
    before = c_ast.BinaryOp("+", counter, copy_tree(one), counter.coord)
    condition = c_ast.BinaryOp(operator, before, bound, node.cond.coord)
    step = c_ast.UnaryOp("p--", copy_tree(counter), node.cond.coord)
    return c_ast.For(init, condition, step, node.stmt, node.coord)


def _decrementing_comparison(condition: Any) -> tuple[Any, str, Any] | None:
    """Return the counter of ``i-- > e``, the comparison and e."""
    match condition:
        case c_ast.UnaryOp(op="p--", expr=c_ast.ID()):
            return condition.expr, "!=", integer_node(0, condition)
        case c_ast.BinaryOp(
            op=">" | ">=" | "!=", left=c_ast.UnaryOp(op="p--", expr=c_ast.ID())
        ) if not contains(condition.right, c_ast.UnaryOp, c_ast.FuncCall):
            return condition.left.expr, condition.op, condition.right
        case _:
            return None


def _is_wide(kind: Any) -> bool:
    """Whether a type is an integer at least as wide as int."""
    names = getattr(getattr(kind, "type", None), "names", None)
    return isinstance(kind, c_ast.TypeDecl) and names is not None and set(names) <= _WIDE


def _is_unsigned(kind: Any) -> bool:
    """Whether an integer type has no sign."""
    return bool({"unsigned", "size_t", "uint64_t"} & set(kind.type.names))


class StatementDesugarer(Protocol):
    """The part of the desugarer that takes statements apart."""

    calls: CallInliner
    source: SourceMap

    def statements(self, items: Iterable[Any], scope: dict[str, Any]) -> list[Any]:
        """Return the plain statements for some."""

    def inlined_block(self, call: Any, result: str | None, scope: dict[str, Any]) -> Any:
        """Return the plain block of a call."""


class SideEffectExtractor:
    """Takes assignments and calls out of one expression: what comes before it, and after it."""

    def __init__(
        self, desugarer: StatementDesugarer, scope: dict[str, Any], expression: Any
    ) -> None:
        self._plain = desugarer
        self._scope = scope
        self._whole = expression
        self.before: list[Any] = []
        self.after: list[Any] = []

    def read(self, node: Any, *, is_certain: bool = True, is_whole: bool = False) -> Any:
        """Return an expression without effects.

        One that is not ``is_certain`` may not be evaluated at all; ``is_whole`` says that it is all
        that is assigned.
        """
        if node is None or not has_side_effect(node, self._plain.calls):
            return node
        match node:
            case c_ast.Compound():
                message = "a block inside an expression is not supported"
                raise self._plain.source.error(node, message)
            case c_ast.Assignment():
                return self._assignment(node, is_certain)
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
                return self._step(node, is_certain)
            case c_ast.FuncCall():
                return self._call(node, is_certain, is_whole)
            case c_ast.BinaryOp(op="&&" | "||"):
                left = self.read(node.left, is_certain=is_certain)
                right = self.read(node.right, is_certain=False)
                return c_ast.BinaryOp(node.op, left, right, node.coord)
            case c_ast.TernaryOp() if is_certain and self._has_called_branch(node):
                return self._chosen(node)
            case c_ast.TernaryOp():
                return c_ast.TernaryOp(
                    self.read(node.cond, is_certain=is_certain),
                    self.read(node.iftrue, is_certain=False),
                    self.read(node.iffalse, is_certain=False),
                    node.coord,
                )
            case c_ast.ExprList():
                *first, last = (expr for expr in node.exprs if self._counts(expr, node))
                if not is_certain and first:
                    raise self._uncertain(first[0])
                for effect in first:
                    self.before += self._plain.statements([effect], self._scope)
                return self.read(last, is_certain=is_certain)
            case c_ast.UnaryOp(op="sizeof"):
                return node
            case _:
                return copy_tree(
                    node,
                    lambda part: None if part is node else self.read(part, is_certain=is_certain),
                )

    def _has_called_branch(self, node: Any) -> bool:
        """Whether a function without effects gives a value of ``c ? (T)f(x) : (T)y`` as a block."""
        branches = (node.iftrue, node.iffalse)
        if not all(isinstance(branch, c_ast.Cast) for branch in branches):
            return False
        if c_text(branches[0].to_type) != c_text(branches[1].to_type):
            return False
        calls = self._plain.calls
        blocks = list(filter(calls.is_call, walk(list(branches), c_ast.FuncCall)))
        return (
            bool(blocks)
            and not any(map(calls.has_side_effects, blocks))
            and not any(map(is_modification, walk(list(branches))))
        )

    def _chosen(self, node: Any) -> Any:
        """Return a variable that has one of two values, which ``if`` gives it before."""
        name = self._plain.calls.fresh_name("chosen")
        chosen = declaration(name, node.iftrue.to_type.type, None, node)

        def assigned(value: Any) -> Any:
            return c_ast.Assignment("=", c_ast.ID(name, node.coord), value, node.coord)

        branch = c_ast.If(node.cond, assigned(node.iftrue), assigned(node.iffalse), node.coord)
        self.before += self._plain.statements([chosen, branch], self._scope)
        return c_ast.ID(name, node.coord)

    def read_target(self, node: Any) -> Any:
        """Return what is assigned to, its subscripts without effects."""
        if not has_side_effect(node, self._plain.calls):
            return node
        return copy_tree(
            node, lambda part: None if isinstance(part, c_ast.ArrayRef) else self.read(part)
        )

    def _counts(self, node: Any, comma: Any) -> bool:
        """Whether an operand of a comma is its value, or does something."""
        return node is comma.exprs[-1] or has_side_effect(node, self._plain.calls)

    def _uncertain(self, node: Any) -> Exception:
        return self._plain.source.error(
            node,
            "an assignment inside an expression, or a call of a function that is more than an "
            "expression, must not stand where it may not be evaluated",
            "write it as a statement, under an if",
        )

    def _assignment(self, node: Any, is_certain: bool) -> Any:
        """Assign first, and read what has been assigned."""
        if not is_certain:
            raise self._uncertain(node)
        self.before += self._plain.statements([node], self._scope)
        return copy_tree(node.lvalue)

    def _step(self, node: Any, is_certain: bool) -> Any:
        """Count before or after the whole expression."""
        if not is_certain:
            raise self._uncertain(node)
        if not self._stands_once(node.expr):
            raise self._plain.source.error(
                node,
                f"{node.op.strip('p')} inside an expression is a side effect",
                "write it as a statement of its own",
            )
        operator = f"{node.op.strip('p')[0]}="
        step = c_ast.Assignment(operator, copy_tree(node.expr), integer_node(1, node), node.coord)
        (self.after if node.op.startswith("p") else self.before).append(step)
        return copy_tree(node.expr)

    def _stands_once(self, target: Any) -> bool:
        """Whether a variable or an array stands once, with subscripts that nothing changes."""
        base, subscripts = base_and_subscripts(target)
        if not isinstance(base, c_ast.ID) or isinstance(target, c_ast.UnaryOp):
            return False
        changed = {root.name for root in modified_roots(self._whole) if isinstance(root, c_ast.ID)}
        if names_in(subscripts) & changed or has_side_effect(subscripts, self._plain.calls):
            return False
        return [name.name for name in walk(self._whole, c_ast.ID)].count(base.name) == 1

    def _call(self, node: Any, is_certain: bool, is_whole: bool) -> Any:
        """Put the body of a function in front, and read its result."""
        calls = self._plain.calls
        operands = [self.read(operand, is_certain=is_certain) for operand in operands_of(node)]
        new = with_operands(node, operands)
        if not calls.is_call(node):
            expression = calls.inlined_expression(new, self._scope)
            return expression if expression is new else self.read(expression, is_certain=is_certain)
        if not is_certain:
            raise self._uncertain(node)
        kind = calls.result_type(node)
        if kind is None:
            raise self._plain.source.error(node, f"{node.name.name} returns nothing")
        if not is_whole and calls.has_side_effects(node) and not self._is_alone(node):
            raise self._plain.source.error(
                node,
                f"the call of {node.name.name} may have side effects: C leaves open when they "
                "happen in this expression",
                "assign its value to a variable first",
            )
        result = calls.fresh_name("value")
        self.before.append(declaration(result, kind, None, node))
        self.before.append(self._plain.inlined_block(new, result, self._scope))
        return c_ast.ID(result, node.coord)

    def _is_alone(self, call: Any) -> bool:
        """Whether nothing else in the whole expression has effects, or sees those of a call."""
        changed = self._plain.calls.changed_names(call)
        inside = set(map(id, walk(call)))
        others = [part for part in walk(self._whole) if id(part) not in inside]
        acting = [
            part
            for part in others
            if is_modification(part) or isinstance(part, c_ast.FuncCall | c_ast.ExprList)
        ]
        read = {part.name for part in others if isinstance(part, c_ast.ID)}
        is_only = not [part for part in acting if part is not self._whole]
        return changed is not None and is_only and read.isdisjoint(changed)


def has_side_effect(node: Any, calls: CallInliner) -> bool:
    """Whether an expression changes something or calls a function of the file."""
    return any(
        is_modification(part)
        or isinstance(part, c_ast.ExprList)
        or (isinstance(part, c_ast.FuncCall) and calls.is_known(part))
        for part in walk(node)
    )
