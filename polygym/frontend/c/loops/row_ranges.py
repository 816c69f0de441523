"""Ranges of an array of rows that start or end inside of a row, or are several rows long.

``for (t = a; t < b; t++)`` runs through the elements from a to b of something whose rows have w
elements. With a = q w + r and b = p w + s, 0 <= r <= w and 0 <= s <= w, element j of row i is one
of them if (q, r) <= (i, j) < (p, s), compared like words in a dictionary, which is affine::

    for (t = 1; t < n * m - 1; t++)     for (i = 0; i <= n - 1; i++)
      x[t] = 0;                           for (j = 0; j < m; j++)
                                            if ((i > 0 || j >= 1) && (i < n - 1 || j < m - 1))
                                              x[i * m + j] = 0;

Where r or s is not surely between 0 and w, that is a condition on the parameters, which is said.
The end ``n * m / c`` is row n / c and element (n % c) m / c of it, one case for each n % c; n and m
must not be negative then.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.loops import polynomials
from polygym.frontend.c.source.syntax import conjunction, copy_tree, for_loop, integer_node

_MAX_DIVISOR = 8


@dataclass(frozen=True, slots=True, eq=False)
class _RowPosition:
    """A row and an element of it, as nodes; None is the first one.

    The polynomials ``nonnegative`` must not be negative for that.
    """

    row: Any
    element: Any
    nonnegative: tuple[polynomials.Polynomial, ...]
    row_of: polynomials.Polynomial | None


@dataclass(frozen=True, slots=True, eq=False)
class RowRange:
    """A range of elements in rows of a width, forwards or backwards."""

    width: polynomials.Polynomial
    first: _RowPosition
    limit: _RowPosition
    is_increasing: bool

    @property
    def nonnegative(self) -> tuple[polynomials.Polynomial, ...]:
        """What must not be negative."""
        return (self.width, *self.first.nonnegative, *self.limit.nonnegative)

    @property
    def is_in_one_row(self) -> bool:
        """Whether all of it is in one row, so that nothing is gained."""
        rows = self.first.row_of, self.limit.row_of
        if rows[0] is None or rows[1] is None:
            return False
        distance = rows[1].plus(rows[0], -1).constant
        return distance == 0 or (distance == 1 and self.limit.element is None)

    def counter_value(self, row: str, element: str, like: Any) -> polynomials.Polynomial:
        """Return the counter of the loop over all, by those of the two loops."""
        inner = polynomials.unknown_polynomial(element, like.coord)
        return polynomials.unknown_polynomial(row, like.coord).times(self.width).plus(inner)

    def loops(self, row: str, element: str, type_name: str, body: Any, like: Any) -> Any:
        """Return the two loops, with the statement inside under its condition."""
        condition = self._condition(row, element, like)
        if condition is not None:
            body = c_ast.If(condition, body, None, like.coord)
        zero, one = integer_node(0, like), integer_node(1, like)
        last = c_ast.BinaryOp("-", self.width.to_node(like), one, like.coord)
        inner = self._loop(element, type_name, zero, last, body, like)
        last_row = copy_tree(self.limit.row)
        if self.limit.element is None:
            last_row = c_ast.BinaryOp("-", last_row, one, like.coord)
        return self._loop(row, type_name, copy_tree(self.first.row), last_row, inner, like)

    def _loop(self, name: str, type_name: str, low: Any, high: Any, body: Any, like: Any) -> Any:
        up, down = ((low, "<=", high), "p++"), ((high, ">=", low), "p--")
        return for_loop(name, type_name, *(up if self.is_increasing else down), body, like)

    def _condition(self, row: str, element: str, like: Any) -> Any:
        """Return when an element of a row is one of the range, None where it always is."""
        parts = []
        for place, operators in ((self.first, (">", ">=")), (self.limit, ("<", "<"))):
            if place.element is None:
                continue
            sides = [
                c_ast.BinaryOp(operator, c_ast.ID(name, like.coord), copy_tree(side), like.coord)
                for operator, name, side in zip(
                    operators, (row, element), (place.row, place.element), strict=True
                )
            ]
            parts.append(c_ast.BinaryOp("||", *sides, like.coord))
        return conjunction(parts) if parts else None


def row_range(
    header: polynomials.PolynomialHeader,
    width: polynomials.Polynomial,
    fixed: frozenset[str],
    read: Callable[[Any], polynomials.Polynomial | None],
    like: Any,
) -> RowRange | None:
    """Return a loop's range in rows of a width, None where it is none.

    ``fixed`` are the names of parameters, ``read`` returns an expression as a polynomial.
    """
    polynomial = polynomials.constant_polynomial(1)
    if header.is_increasing:
        low, high = header.first, header.first.plus(header.distance)
    else:
        high = header.first.plus(polynomial)
        low = high.plus(header.distance, -1)
    if header.step.constant != 1 or not width.is_linear or not width.names <= fixed:
        return None
    places = [_row_position(value, width, fixed, read, like) for value in (low, high)]
    if places[0] is None or places[1] is None:
        return None
    return RowRange(width, places[0], places[1], header.is_increasing)


def _row_position(
    value: polynomials.Polynomial,
    width: polynomials.Polynomial,
    fixed: frozenset[str],
    read: Callable[[Any], polynomials.Polynomial | None],
    like: Any,
) -> _RowPosition | None:
    """Return where an element is, None where that is no affine place."""
    part = _quotient_position(value, width, fixed, read, like)
    if part is not None:
        return part
    divided = value.divided(width)
    if divided is None or not all(polynomial.is_linear for polynomial in divided):
        return None
    row, element = divided
    if element.terms and all(factor < 0 for factor in element.terms.values()):
        row, element = row.plus(polynomials.constant_polynomial(1), -1), element.plus(width)
    if not element.terms:
        return _RowPosition(row.to_node(like), None, (), row)
    if not element.names <= fixed:
        return None
    known = element.constant is not None and element.constant >= 0
    needed = [] if known else [element]
    return _RowPosition(
        row.to_node(like), element.to_node(like), (*needed, width.plus(element, -1)), row
    )


def _quotient_position(
    value: polynomials.Polynomial,
    width: polynomials.Polynomial,
    fixed: frozenset[str],
    read: Callable[[Any], polynomials.Polynomial | None],
    like: Any,
) -> _RowPosition | None:
    """Return where an end n w / c is, None for others."""
    ((term, factor), *others) = value.terms.items() or (((), 0),)
    node = value.nodes.get(term[0]) if len(term) == 1 and factor == 1 and not others else None
    if not isinstance(node, c_ast.BinaryOp) or node.op != "/":
        return None
    whole, by = read(node.left), read(node.right)
    divisor = None if by is None else by.constant
    if whole is None or divisor is None or not 1 < divisor <= _MAX_DIVISOR:
        return None
    divided = whole.divided(width)
    if divided is None or divided[1].terms or not divided[0].is_linear:
        return None
    rows = divided[0]
    if not rows.names <= fixed:
        return None
    by_node = integer_node(divisor, like)
    row = c_ast.BinaryOp("/", rows.to_node(like), by_node, like.coord)
    rest = c_ast.BinaryOp("%", rows.to_node(like), by_node, like.coord)
    element: Any = integer_node(0, like)
    for left in range(1, divisor):
        some = width.times(polynomials.constant_polynomial(left)).to_node(like)
        case = c_ast.BinaryOp("/", some, by_node, like.coord)
        is_it = c_ast.BinaryOp("==", copy_tree(rest), integer_node(left, like), like.coord)
        element = c_ast.TernaryOp(is_it, case, element, like.coord)
    return _RowPosition(row, element, (rows,), None)
