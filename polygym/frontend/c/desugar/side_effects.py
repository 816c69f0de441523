"""Side effects taken out of an expression: the statements before it, and those after it.

``x[i] = (t = e) + f(j++)`` becomes ``t = e;`` and the body of f before, ``j += 1;`` behind, and
between them an expression without effects. What may not be evaluated, an arm of ``?:`` or the right
of ``&&``, is refused if it has an effect.
"""

from collections.abc import Iterable
from typing import Any, Protocol

from pycparser import c_ast

from polygym.frontend.c.desugar.inlining import CallInliner
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.syntax_tree import (
    base_and_subscripts,
    copy_tree,
    declaration,
    integer_node,
    is_modification,
    modified_roots,
    names_in,
    operands_of,
    walk,
    with_operands,
)


class StatementDesugarer(Protocol):
    """The part of the desugarer that takes statements apart."""

    @property
    def calls(self) -> CallInliner:
        """The functions of the file."""

    @property
    def source(self) -> SourceMap:
        """The way back to the user's text."""

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
                for one in first:
                    self.before += self._plain.statements([one], self._scope)
                return self.read(last, is_certain=is_certain)
            case c_ast.UnaryOp(op="sizeof"):
                return node
            case _:
                return copy_tree(
                    node,
                    lambda part: None if part is node else self.read(part, is_certain=is_certain),
                )

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
        if not is_whole and calls.has_side_effects(node):
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


def has_side_effect(node: Any, calls: CallInliner) -> bool:
    """Whether an expression changes something or calls a function of the file."""
    return any(
        is_modification(part)
        or isinstance(part, c_ast.ExprList)
        or (isinstance(part, c_ast.FuncCall) and calls.is_known(part))
        for part in walk(node)
    )
