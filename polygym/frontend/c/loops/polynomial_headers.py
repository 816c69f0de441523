"""Headers of loops that count, in polynomials: the first value, the distance to the end, the step.

Of ``for (k = i * m; k < (i + 1) * m; k++)`` they are i·m, m and 1; of ``for (k = n; k >= 0; k -=
2)``, which counts down, n, n + 1 and 2. Beside something unsigned nothing may be subtracted: sums
that wrap around at 2^64 are larger than any array, and any number of iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl
from pycparser import c_ast

from polygym.frontend.c.loops.polynomials import Polynomial, constant_polynomial, unknown_polynomial
from polygym.frontend.c.loops.single_assignment import SingleAssignments
from polygym.frontend.c.source.syntax_tree import (
    MIRRORED,
    counter_of,
    integer_node,
    names_in,
    start_of,
)


@dataclass(frozen=True, slots=True, eq=False)
class PolynomialHeader:
    """A loop's counter, the first value, the distance to the end, and the step, each positive.

    ``is_increasing`` is the direction in which it counts; ``names_read`` are the names that it
    reads.
    """

    counter: str
    first: Polynomial
    distance: Polynomial
    step: Polynomial
    is_increasing: bool
    names_read: frozenset[str]

    @property
    def is_affine(self) -> bool:
        """Whether the loop can stay as it is."""
        is_linear = self.first.is_linear and self.distance.is_linear
        return is_linear and self.step.constant is not None

    @property
    def counter_offset(self) -> Polynomial:
        """How far the counter is from its first value."""
        counter = unknown_polynomial(self.counter)
        return counter.plus(self.first, -1) if self.is_increasing else self.first.plus(counter, -1)


def read_header(
    loop: Any, once: SingleAssignments, read: Callable[[Any], Polynomial | None]
) -> PolynomialHeader | None:
    """Return the header of a loop, None for one that does not count so."""
    counter, start = counter_of(loop), start_of(loop)
    if counter is None or start is None or not once.is_exact(counter):
        return None
    step, upwards = _step(loop.next, counter)
    end, operator = _end(loop.cond, counter)
    if step is None or end is None or operator not in (("<", "<=") if upwards else (">", ">=")):
        return None
    first, by, last = (read(one) for one in (start, step, end))
    if first is None or by is None or last is None:
        return None
    names = first.names | by.names | last.names | names_in([start, step, end])
    if once.is_int(counter) and not all(map(once.is_int, names)):
        return None
    distance = last.plus(first, -1) if upwards else first.plus(last, -1)
    distance = distance.plus(constant_polynomial(len(operator) - 1))
    is_signed = all(map(once.is_signed, {counter} | names))
    if not is_signed and not all(one.is_positive for one in (first, by, last, distance)):
        return None
    return PolynomialHeader(counter, first, distance, by, upwards, frozenset(names))


def is_nonnegative(number: Polynomial, loops: Sequence[PolynomialHeader]) -> bool:
    """Whether a number is surely not negative inside some loops, the outermost first."""
    if number.constant is not None or not number.is_linear:
        return number.constant is not None and number.constant >= 0
    context = isl.Context()
    domain = isl.Set.universe(isl.Space.params_alloc(context, 0))
    for header in loops:
        if header.first.is_linear and header.distance.is_linear:
            left = header.distance.plus(header.counter_offset, -1).plus(constant_polynomial(-1))
            for side in (header.counter_offset, left):
                domain = domain.intersect(_nonnegative_values(side, context))
    return bool(domain.subtract(_nonnegative_values(number, context)).is_empty())


def _nonnegative_values(value: Polynomial, context: Any) -> Any:
    """Return for which values of its unknowns a linear polynomial is not negative."""
    names = sorted(value.unknowns)
    space = isl.Space.params_alloc(context, len(names))
    for place, name in enumerate(names):
        space = space.set_dim_name(isl.dim_type.param, place, f"v{name}")  # no number
    constraint = isl.Constraint.alloc_inequality(isl.LocalSpace.from_space(space))
    for term, factor in value.terms.items():
        if term:
            place = names.index(term[0])
            constraint = constraint.set_coefficient_val(isl.dim_type.param, place, factor)
    constraint = constraint.set_constant_val(value.terms.get((), 0))
    return isl.Set.universe(space).add_constraint(constraint)


def _step(node: Any, counter: str) -> tuple[Any, bool]:
    """Return what a loop adds to its counter, or takes from it, and whether it adds."""
    match node:
        case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--", expr=c_ast.ID(name=name)) if (
            name == counter
        ):
            return integer_node(1, node), node.op.endswith("++")
        case c_ast.Assignment(op="+=" | "-=", lvalue=c_ast.ID(name=name)) if name == counter:
            return node.rvalue, node.op == "+="
        case c_ast.Assignment(
            op="=",
            lvalue=c_ast.ID(name=name),
            rvalue=c_ast.BinaryOp(op="+" | "-", left=c_ast.ID(name=again)),
        ) if name == counter == again:
            return node.rvalue.right, node.rvalue.op == "+"
        case _:
            return None, True


def _end(condition: Any, counter: str) -> tuple[Any, str]:
    """Return what a loop's counter is compared with, and how."""
    if not isinstance(condition, c_ast.BinaryOp) or condition.op not in MIRRORED:
        return None, ""
    if isinstance(condition.left, c_ast.ID) and condition.left.name == counter:
        return condition.right, condition.op
    if isinstance(condition.right, c_ast.ID) and condition.right.name == counter:
        return condition.left, MIRRORED[condition.op]
    return None, ""
