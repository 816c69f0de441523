"""Subscripts that go on in later rows: ``A[0][i * m + j]`` of rows of m elements is ``A[i][j]``.

That is where a pointer leads that walks through an array of several dimensions, whose rows lie one
behind the other, as is what :mod:`polygym.frontend.c.memory.pointer_induction` makes of it::

    double *p = &A[0][0];           long p_row = 0, p_at = 0;
    for (t = 0; t < n * m; t++)     for (i …) for (j …)
      p[t] = 0;                       A[p_row][p_at + (i * m + j)] = 0;    A[p_row + i][p_at + j]

Only what multiplies by a parameter is divided, because nothing else is made of such a subscript;
and, if asked for, where such a pointer walks through rows of a constant size: with e = p_at + t it
is ``A[p_row + e / 8][e % 8]``. Whether the rest is in its row is asked as for every subscript.
"""

from typing import Any

from pycparser import c_ast

from polygym.frontend.c.loops.polynomials import Polynomial, read_polynomial
from polygym.frontend.c.loops.single_assignment import SingleAssignments
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion, with_statements
from polygym.frontend.c.source.syntax_tree import (
    array_type,
    base_and_subscripts,
    copy_tree,
    element_node,
    modified_names,
    multiplies,
    names_in,
    walk,
)


def with_delinearized_subscripts(
    tree: Any, region: ScopRegion, source: SourceMap, pointer_indices: frozenset[str] = frozenset()
) -> ScopRegion:
    """Return a region whose products in subscripts of inner dimensions are rows, where they are.

    Where a subscript has one of the integers ``pointer_indices``, it is divided by rows of constant
    sizes.
    """
    inner = [node.subscript for node in walk(region.items, c_ast.ArrayRef) if _is_inner(node)]
    if not pointer_indices and not multiplies(inner):
        return region
    once = SingleAssignments(tree, region.function, source)
    moving = modified_names(region.items)

    def read(node: Any) -> Polynomial | None:
        return read_polynomial(node, once.is_exact, once.definition)

    def replacement(node: Any) -> Any:
        """Return an element in the row in which it is, None for what stays."""
        if not _is_inner(node):
            return None
        base, subscripts = base_and_subscripts(node)
        sizes = _inner_sizes(once.declaration(base.name)) if isinstance(base, c_ast.ID) else []
        if len(subscripts) != len(sizes) + 1:
            return None
        widths = [read(size) for size in sizes]
        subscripts = [copy_tree(subscript, replacement) for subscript in subscripts]
        for place in range(len(sizes), 0, -1):
            width, whole = widths[place - 1], read(subscripts[place])
            if pointer_indices & names_in(subscripts[place]):
                if width is not None and width.constant is not None:
                    size = width.to_node(node)
                    rows = c_ast.BinaryOp("/", subscripts[place], size, node.coord)
                    before = subscripts[place - 1]
                    subscripts[place - 1] = c_ast.BinaryOp("+", before, rows, node.coord)
                    rest = copy_tree(subscripts[place]), copy_tree(size)
                    subscripts[place] = c_ast.BinaryOp("%", *rest, node.coord)
                    continue
            if width is None or whole is None or whole.is_linear or width.names & moving:
                continue
            divided = whole.divided(width)
            if divided is not None and divided[1].is_linear:
                rows, rest = (one.to_node(node) for one in divided)
                before = subscripts[place - 1]
                subscripts[place - 1] = c_ast.BinaryOp("+", before, rows, node.coord)
                subscripts[place] = rest
        return element_node(base.name, subscripts, node)

    return with_statements(region, [copy_tree(item, replacement) for item in region.items])


def _is_inner(node: Any) -> bool:
    """Whether a node is an element or a row of a row."""
    return isinstance(node, c_ast.ArrayRef) and isinstance(node.name, c_ast.ArrayRef)


def _inner_sizes(declared: Any) -> list[Any]:
    """Return the sizes of an array's dimensions but the first; none where one is not declared."""
    sizes, kind = array_type(getattr(declared, "type", None))
    return sizes[1:] if isinstance(kind, c_ast.TypeDecl) and None not in sizes[1:] else []
