"""Conditions under which no access leaves its array.

Every access that goes wrong has a set of parameter values for which it does. Where what is left of
the context is one convex set in which all accesses still happen, its constraints are the advice.
Otherwise each convex piece of the wrong values is excluded by the opposite of one of its
constraints, such that they still happen for some values::

    for (i = 0; i <= n; i++)            wrong   { n >= 100 and m >= 0 }  by the first subscript
      for (j = 0; j <= m; j++)                  { m >= 100 and n >= 0 }  by the second
        A[i][j] = 0;                    advice  n <= 99 && m <= 99       for double A[100][100]

(``m < 0`` would exclude the first piece too, but then nothing runs.) What follows from the rest of
the advice is left out of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl

from polygym.poly.isl_values import coefficients, constant_term

_MAX_CONSTRAINTS = 3
_MAX_CONDITIONS = 32
_MAX_CONSTANT = 2**31 - 2  # below the bounds of int


@dataclass(frozen=True, slots=True, eq=False)
class ViolationSet:
    """The parameter values for which an access goes wrong, and the instances in which it happens.

    Iterators are among the isl parameters of ``instances``, as those of a touch's domain.
    """

    values: Any
    instances: Any


@dataclass(frozen=True, slots=True, eq=False)
class SufficientCondition:
    """A condition in C, a conjunction, and the values of which it is true."""

    parts: tuple[str, ...]
    values: Any

    @property
    def text(self) -> str:
        """The whole condition."""
        return " && ".join(self.parts)


def sufficient_condition(
    violations: Sequence[ViolationSet], context: Any
) -> SufficientCondition | None:
    """Return a condition under which nothing goes wrong, None if there is no simple one."""
    safe = context
    for wrong in violations:
        safe = safe.subtract(wrong.values)
    if _all_have_instances(violations, safe):
        parts = _condition_parts(safe, context)
        if parts is not None:
            return SufficientCondition(parts, safe)
    return _excluding_pieces(violations, context)


def _all_have_instances(violations: Sequence[ViolationSet], values: Any) -> bool:
    """Whether every access has instances for some of these values."""
    return not any(wrong.instances.intersect(values).is_empty() for wrong in violations)


def _excluding_pieces(
    violations: Sequence[ViolationSet], context: Any
) -> SufficientCondition | None:
    """Exclude the convex pieces of what is wrong, each by the opposite of a constraint."""
    kept = context
    opposites: list[Any] = []
    for wrong in violations:
        for piece in wrong.values.get_basic_sets():
            if isl.Set.from_basic_set(piece).intersect(kept).is_empty():
                continue
            opposite = _excluding_constraint(piece, violations, kept)
            if opposite is None:
                return None
            kept = kept.intersect(_values_of(opposite))
            opposites.append(opposite)
    needed = _without_redundant(opposites, context)
    if not 0 < len(needed) <= _MAX_CONDITIONS:
        return None
    return SufficientCondition(tuple(dict.fromkeys(map(_constraint_text, needed))), kept)


def _without_redundant(constraints: Sequence[Any], context: Any) -> list[Any]:
    """Return constraints without those that follow from the others: of p <= 30, p <= 20 the last.

    Those found first are looked at first.
    """
    left = list(constraints)
    for constraint in constraints:
        others = context
        for other in left:
            if other is not constraint:
                others = others.intersect(_values_of(other))
        if others.is_subset(_values_of(constraint)):
            left.remove(constraint)
    return left


def _values_of(constraint: Any) -> Any:
    """Return the values that satisfy a constraint."""
    whole = isl.BasicSet.universe(constraint.get_space())
    return isl.Set.from_basic_set(whole.add_constraint(constraint))


def _excluding_constraint(piece: Any, violations: Sequence[ViolationSet], context: Any) -> Any:
    """Return a constraint that excludes a piece, None if there is no simple one."""
    if piece.dim(isl.dim_type.div):
        return None
    for constraint in piece.get_constraints():
        if constraint.is_equality() or abs(constant_term(constraint)) > _MAX_CONSTANT:
            continue  # the opposite of an upper bound by a type is no size of an array
        # The opposite of f >= 0 is -f - 1 >= 0.
        form = constraint.get_aff().neg().add_constant_val(isl.Val("-1", piece.get_ctx()))
        outside = isl.Constraint.inequality_from_aff(form)
        if _all_have_instances(violations, context.intersect(_values_of(outside))):
            return outside
    return None


def _condition_parts(safe: Any, context: Any) -> tuple[str, ...] | None:
    """Return a set of parameter values as a short C condition, None if it has none."""
    short = safe.coalesce().gist(context).coalesce()
    if short.n_basic_set() != 1 or safe.is_empty():
        return None
    (piece,) = short.get_basic_sets()
    constraints = piece.get_constraints()
    if not 0 < len(constraints) <= _MAX_CONSTRAINTS or piece.dim(isl.dim_type.div):
        return None
    # `n == 1` would be true to the letter, and no help.
    if any(constraint.is_equality() and _terms(constraint) == 1 for constraint in constraints):
        return None
    return tuple(map(_constraint_text, constraints))


def _terms(constraint: Any) -> int:
    """Return the number of parameters in a constraint."""
    return sum(map(bool, coefficients(constraint, isl.dim_type.param)))


def _constraint_text(constraint: Any) -> str:
    """Return ``2n - m + 3 >= 0`` as ``2 * n + 3 >= m``: positive terms on either side."""
    sides: tuple[list[str], list[str]] = ([], [])
    for index, factor in enumerate(coefficients(constraint, isl.dim_type.param)):
        name = constraint.get_dim_name(isl.dim_type.param, index)
        if factor:
            term = name if abs(factor) == 1 else f"{abs(factor)} * {name}"
            sides[factor < 0].append(term)
    rest = constant_term(constraint)
    operator = "==" if constraint.is_equality() else ">="
    if not constraint.is_equality() and rest == -1 and sides[0] and sides[1]:
        operator, rest = ">", 0
    if rest or not (sides[0] and sides[1]):
        target = rest < 0 or (rest == 0 and not sides[1])
        if rest or not sides[target]:
            sides[target].append(str(abs(rest)))
    left, right = (" + ".join(side) or "0" for side in sides)
    if operator == ">=" and left.isdecimal():
        return f"{right} <= {left}"
    return f"{left} {operator} {right}"
