"""Whether elements of arrays of rows are in their rows, asked of isl; the rows that they are in.

Of ``A[i * m + m - 1 - j]`` division leaves row i + 1 and element -1 - j of it, which is no element
for 0 <= j < m. One row earlier, at row i and element m - 1 - j, it is one, and the same. One that
is now in its row and now in the next, as ``A[i * m + j + 1]`` may be, has quotients as subscripts,
``A[i + (j + 1) / m][(j + 1) % m]``.

A column that is read when the program runs, ``A[c[j] + m * i]``, is taken to be one of row i. The
code checks that, as it checks every computed subscript, and stops otherwise.

Where sizes decide it, ``A[i * lda + j]`` with j < n is element j of row i if n <= lda. Asked to,
that is taken to be so, and the bounds check makes it a condition of the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl
from pycparser import c_ast

from polygym.frontend.c.loops.polynomials import Polynomial, constant_polynomial
from polygym.frontend.c.scop.bounds_check import excluded_by_lower_bounds
from polygym.frontend.c.scop.translation import Translation
from polygym.frontend.c.sema.accesses import SourceAccess, without_iterators
from polygym.frontend.c.sema.bindings import ExpressionEnvironment
from polygym.frontend.c.source.syntax import copy_tree

_SHIFTS = (0, 1, -1, 2, -2)


@dataclass(slots=True, eq=False)
class RowElement:
    """An access that is rewritten: its new node, and its subscripts, the first one outermost."""

    node: Any
    subscripts: list[Polynomial]

    def shift_rows(self, dimension: int, rows: int, stride: Polynomial) -> None:
        """Count a subscript from so many rows earlier."""
        before = self.subscripts[dimension - 1]
        self.subscripts[dimension] = self.subscripts[dimension].plus(stride, rows)
        self.subscripts[dimension - 1] = before.plus(constant_polynomial(-rows))

    def wrap_row(self, dimension: int, stride: Polynomial) -> None:
        """Find the row of a subscript that may be in the row before or behind."""
        inside = self.subscripts[dimension].plus(stride).to_node(self.node)
        parts = []
        for operator in ("/", "%"):
            sides = copy_tree(inside), stride.to_node(self.node)
            part = c_ast.BinaryOp(operator, *sides, self.node.coord)
            parts.append(Polynomial({(operator,): 1}, {operator: part}))
        before = self.subscripts[dimension - 1]
        self.subscripts[dimension - 1] = before.plus(parts[0]).plus(constant_polynomial(-1))
        self.subscripts[dimension] = parts[1]

    def write_subscripts(self) -> None:
        """Put the subscripts into the node."""
        node = self.node
        for subscript in reversed(self.subscripts):
            node.subscript = subscript.to_node(self.node)
            node = node.name


def is_delinearizable(
    name: str,
    strides: Sequence[Polynomial],
    elements: Mapping[int, RowElement],
    accesses: Sequence[SourceAccess],
    translation: Translation,
    *,
    under_conditions: bool = False,
) -> bool:
    """Whether all elements of an array are in their rows, after they have been moved there.

    With ``under_conditions`` that need be so for some sizes alone.
    """
    mine: dict[int, list[SourceAccess]] = {}
    for touch in accesses:
        if touch.symbol.name == name:
            if id(touch.node) not in elements:
                return False
            mine.setdefault(id(touch.node), []).append(touch)
    for key, element_touches in mine.items():
        rows = 0
        for dimension in range(len(strides), 0, -1):
            bounds = [
                _RowContainment(access, dimension, rows, translation) for access in element_touches
            ]
            shift = _shift(bounds, under_conditions=under_conditions)
            if shift is None:
                if dimension > 1 or not all(bound.is_within_one_row() for bound in bounds):
                    return False
                elements[key].shift_rows(dimension, 0, strides[0])
                elements[key].wrap_row(dimension, strides[0])
                break
            elements[key].shift_rows(dimension, shift, strides[dimension - 1])
            rows = shift
        elements[key].write_subscripts()
    return True


def _shift(bounds: Sequence[_RowContainment], *, under_conditions: bool) -> int | None:
    """Return how many rows earlier all accesses are in their rows; None where they are not."""
    if all(bound.is_computed for bound in bounds):
        return 0
    tests = [_RowContainment.is_always_inside, _RowContainment.is_inside_for_large_sizes]
    if under_conditions:
        tests.append(_RowContainment.is_inside_for_some_sizes)
    for test in tests:
        for shift in _SHIFTS:
            if all(test(bound, shift) for bound in bounds):
                return shift
    return None


class _RowContainment:
    """Whether a subscript of a touch is in its row, if it is counted from other rows."""

    def __init__(
        self, access: SourceAccess, dimension: int, rows: int, translation: Translation
    ) -> None:
        """``rows`` are those that the dimension behind this one is moved by."""
        size = translation.bindings.shape(access.symbol, access.node).sizes[dimension]
        where = ExpressionEnvironment(access.domain, role="the size of a row")
        self._size = translation.affine.expression(size, where)
        self._touch = access
        subscript = access.subscripts[dimension]
        self._at: Any = None if subscript is None else subscript.add_constant_val(-rows)

    def _outside(self, rows: int, count: int = 1) -> Any:
        """Return the instances that are not in the row, or in so many from it on."""
        at = self._at.add(self._times(rows))
        inside = at.ge_set(at.scale_val(0)).intersect(at.lt_set(self._times(count)))
        return self._touch.domain.subtract(inside)

    def _times(self, rows: int) -> Any:
        return self._size.scale_val(isl.Val(str(rows), self._size.get_ctx()))

    def is_within_one_row(self) -> bool:
        """Whether it is in its row, in the one before or in the one behind."""
        return self._at is not None and bool(self._outside(1, 3).is_empty())

    @property
    def is_computed(self) -> bool:
        """Whether the subscript is read when the program runs."""
        return self._at is None

    def is_always_inside(self, rows: int) -> bool:
        """Whether it is in its row, so many rows earlier, for all sizes."""
        return self._at is not None and bool(self._outside(rows).is_empty())

    def is_inside_for_some_sizes(self, rows: int) -> bool:
        """Whether it is in its row, so many rows earlier, for some sizes for which it happens."""
        if self._at is None:
            return False
        wrong = without_iterators(self._outside(rows), self._touch.iterators)
        happens = without_iterators(self._touch.domain, self._touch.iterators)
        return not happens.subtract(wrong).is_empty()

    def is_inside_for_large_sizes(self, rows: int) -> bool:
        """Whether it is in its row, so many rows earlier, if single sizes are not the smallest."""
        return self._at is not None and excluded_by_lower_bounds(
            self._outside(rows), self._touch.iterators
        )
