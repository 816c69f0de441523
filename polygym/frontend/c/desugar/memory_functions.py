"""``memset`` and ``memcpy`` as loops over the elements of arrays.

The number of bytes has to be a multiple of the element's size by its text, and the arrays are named
without their last dimension, or with the element at which they begin::

    memset(x, 0, n * sizeof(double));           for (k = 0; k < n; k++) x[k] = 0;
    memcpy(a[i], b[j], 8 * m);                  for (k = 0; k < m; k++) a[i][k] = b[j][k];
    memcpy(&a[i * m], x + j, 8 * m);            for (k = 0; k < m; k++) a[i * m + k] = x[j + k];

Bytes that are all zero are the number zero in every type; another byte fills arrays of bytes alone.
What is no such call stays, to be refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.literals import integer_value

_NAMES = frozenset({"memset", "memcpy", "__builtin_memset", "__builtin_memcpy"})
_SIZES = {
    ("char",): 1,
    ("double",): 8,
    ("float",): 4,
    ("int",): 4,
    ("long",): 8,
    ("short",): 2,
    ("signed", "char"): 1,
    ("unsigned", "char"): 1,
    ("unsigned", "int"): 4,
    ("unsigned", "long"): 8,
    ("unsigned", "short"): 2,
    ("unsigned",): 4,
}


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of elements: a name, subscripts, the first element, the words of the elements' type."""

    name: str
    subscripts: tuple[Any, ...]
    first: Any
    type_words: tuple[str, ...]

    @property
    def reads(self) -> set[str]:
        """The names that say which row it is."""
        return syntax.names_in([*self.subscripts, *filter(None, [self.first])])

    def element(self, index: Any, like: Any) -> Any:
        """Return an element."""
        leading = map(syntax.copy_tree, self.subscripts)
        if self.first is not None:
            index = c_ast.BinaryOp("+", syntax.copy_tree(self.first), index, like.coord)
        return syntax.element_node(self.name, [*leading, index], like)


def memory_loop(
    call: Any,
    declared: Mapping[str, Any],
    resolved: Callable[[Any], Any],
    fresh: Callable[[str], str],
) -> Any:
    """Return the loop that a call stands for, None for any other call.

    ``declared`` are the declarations that are seen there, ``resolved`` follows typedefs, ``fresh``
    makes names.
    """
    name = getattr(call.name, "name", None)
    operands = syntax.operands_of(call)
    if name not in _NAMES or len(operands) != 3 or syntax.acts(operands):
        return None
    target = _row(operands[0], declared, resolved)
    if target is None:
        return None
    size = _SIZES[target.type_words]
    count = _count(operands[2], size)
    if count is None or syntax.reads_elements(operands[2]):
        return None  # operands are evaluated once, the conditions of the loop each time
    index = fresh("k")
    value: Any
    if name.endswith("memset"):
        byte = integer_value(operands[1])
        if (byte != 0 and size != 1) or syntax.reads_elements(operands[1]):
            return None
        value = syntax.copy_tree(operands[1])
    else:
        source = _row(operands[1], declared, resolved)
        if source is None or source.type_words != target.type_words:
            return None
        if target.name in source.reads | target.reads:
            return None
        value = source.element(c_ast.ID(index, call.coord), call)
    element = target.element(c_ast.ID(index, call.coord), call)
    span = (syntax.integer_node(0, call), "<", syntax.as_long(count))
    body = c_ast.Assignment("=", element, value, call.coord)
    return syntax.for_loop(index, "long", span, "p++", body, call)


def _row(node: Any, declared: Mapping[str, Any], resolved: Callable[[Any], Any]) -> _Row | None:
    """Return the row that an operand names: of an array, or behind an element of it."""
    node = syntax.without_casts(node)
    first: Any = None
    if isinstance(node, c_ast.UnaryOp) and node.op == "&":  # &a[i][e] is a[i] + e
        if not isinstance(node.expr, c_ast.ArrayRef):
            return None
        node, first = node.expr.name, node.expr.subscript
    elif isinstance(node, c_ast.BinaryOp) and node.op == "+":
        node, first = node.left, node.right
    if syntax.is_zero(first):
        first = None
    if first is not None and syntax.acts(first):
        return None
    base, subscripts = syntax.base_and_subscripts(node)
    if not isinstance(base, c_ast.ID) or base.name not in declared or syntax.acts(subscripts):
        return None
    kind = resolved(declared[base.name].type)
    for _ in range(len(subscripts) + 1):
        if not isinstance(kind, c_ast.ArrayDecl | c_ast.PtrDecl):
            return None
        kind = resolved(kind.type)
    if not isinstance(kind, c_ast.TypeDecl) or not isinstance(kind.type, c_ast.IdentifierType):
        return None
    words = tuple(kind.type.names)
    return _Row(base.name, tuple(subscripts), first, words) if words in _SIZES else None


def _count(node: Any, size: int) -> Any:
    """Return how many elements a number of bytes is; None where its text is no multiple."""
    node = syntax.without_casts(node)
    value = integer_value(node)
    if value is not None:
        return syntax.integer_node(value // size, node) if value % size == 0 else None
    if isinstance(node, c_ast.BinaryOp) and node.op == "*":
        for factor, other in ((node.left, node.right), (node.right, node.left)):
            part = _count(factor, size)
            if part is not None and size > 1:
                unit = integer_value(part) == 1
                product = c_ast.BinaryOp("*", syntax.as_long(part), other, node.coord)
                return other if unit else product
    return node if size == 1 else None
