"""Symbolic sizes: numbers in the source become parameters for isl's scheduler.

isl's scheduler solves integer programs whose steps no bound counts. With symbolic sizes they are
small; with ``#define N 40`` the numbers of the domains get into the tableaus and grow, and a
stencil that takes it three seconds for all N keeps it busy for hours. So large numbers in domains
are replaced by parameters, the program is scheduled for all their values, which are put back then:

    { S[t, i] : 0 <= t <= 8 and i <= 38 }  becomes  { S[t, i] : 0 <= t <= a and i <= b }
    { S[t, i] -> [t, i + a] }              becomes  { S[t, i] -> [t, i + 8] }

At these values the two are one program, so a schedule that is legal for all values is legal.
Numbers that are close to each other are one size with an offset, as 38 and 39 are N - 2 and N - 1.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import islpy as isl

from polygym.ir.scop import Parameter, Scop
from polygym.poly.dependences import basic_sets_of
from polygym.poly.isl_values import coefficients, constant_term
from polygym.poly.schedule import Schedule, ScheduleRow

# Smaller numbers are borders and strides, unless they are all that ends a loop.
_SMALLEST_SIZE = 6
_CLOSE = 3
_MOST_SIZES = 4


@dataclass(frozen=True, slots=True)
class SymbolicSize:
    """A parameter that stands for numbers from ``value`` to ``value + spread``."""

    name: str
    value: int
    spread: int


@dataclass(frozen=True, slots=True)
class SymbolicProgram:
    """A program with sizes in the place of numbers; they are its last parameters."""

    scop: Scop
    sizes: tuple[SymbolicSize, ...]

    def with_constant_sizes(self, schedule: Schedule) -> Schedule:
        """Return a schedule of this program as one of the program that it was made from."""
        count = len(self.scop.parameters) - len(self.sizes)
        statements = tuple(
            replace(part, rows=tuple(self._row_with_constants(row, count) for row in part.rows))
            for part in schedule.statements
        )
        return Schedule(schedule.parameters[:count], statements)

    def _row_with_constants(self, row: ScheduleRow, count: int) -> ScheduleRow:
        values = zip(row.parameters[count:], self.sizes, strict=True)
        added = sum(factor * size.value for factor, size in values)
        return ScheduleRow(row.iterators, row.parameters[:count], row.constant + added)


def with_symbolic_sizes(scop: Scop) -> SymbolicProgram | None:
    """Return a program with its large numbers lifted, None where it has none."""
    domains = {statement.name: isl.Set(statement.domain) for statement in scop.statements}
    numbers = sorted(
        {
            abs(constant_term(constraint))
            for domain in domains.values()
            for piece in basic_sets_of(domain)
            for constraint in piece.get_constraints()
            if _has_size(constraint)
        }
    )
    sizes = _sizes(numbers, scop)
    if not sizes:
        return None
    statements = tuple(
        replace(statement, domain=str(_symbolic_domain(domains[statement.name], sizes)))
        for statement in scop.statements
    )
    made = replace(
        scop,
        parameters=(*scop.parameters, *(Parameter(size.name) for size in sizes)),
        context=str(isl.Set(scop.context).intersect(_context(sizes))),
        statements=statements,
    )
    return SymbolicProgram(made, sizes)


def has_constant_sizes(scop: Scop) -> bool:
    """Say whether a bound or a condition compares with a large number and with no parameter.

    So do those of ``i < 40``, and not those of ``i < n - 8`` or ``i < 2``.
    """
    return any(
        abs(constant_term(constraint)) >= _SMALLEST_SIZE
        and not any(coefficients(constraint, isl.dim_type.param))
        for statement in scop.statements
        for piece in basic_sets_of(isl.Set(statement.domain))
        for constraint in piece.get_constraints()
    )


def _sizes(numbers: list[int], scop: Scop) -> tuple[SymbolicSize, ...]:
    """Return sizes for sorted numbers, for the largest if there are many."""
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number - groups[-1][-1] <= _CLOSE:
            groups[-1].append(number)
        else:
            groups.append([number])
    taken = {parameter.name for parameter in scop.parameters} | {
        array.name for array in scop.arrays
    }
    for statement in scop.statements:
        taken |= {statement.name, *statement.iterators}
    names = (name for k in range(len(taken) + len(groups)) if (name := f"size_{k}") not in taken)
    return tuple(
        SymbolicSize(name, group[0], group[-1] - group[0])
        for name, group in zip(names, groups[-_MOST_SIZES:], strict=False)
    )


def _has_size(constraint: isl.Constraint) -> bool:
    """Whether the number in a constraint is a size: a large one, or the end of a loop, i <= 2."""
    number = constant_term(constraint)
    if abs(number) >= _SMALLEST_SIZE:
        return True
    ends = not any(coefficients(constraint, isl.dim_type.param))
    ends = ends and max(coefficients(constraint, isl.dim_type.set), default=1) <= 0
    return number > 0 and ends and not constraint.is_div_constraint()


def _context(sizes: tuple[SymbolicSize, ...]) -> isl.Set:
    """Return what is known of sizes: they are in this order."""
    conditions = [f"{sizes[0].name} >= {min(sizes[0].value, _SMALLEST_SIZE)}"]
    for smaller, larger in pairwise(sizes):
        conditions.append(f"{larger.name} > {smaller.name} + {smaller.spread}")
    names = ", ".join(size.name for size in sizes)
    return isl.Set(f"[{names}] -> {{ : {' and '.join(conditions)} }}")


def _symbolic_domain(domain: isl.Set, sizes: tuple[SymbolicSize, ...]) -> isl.Set:
    """Return a domain with sizes for the numbers in its constraints."""
    name = domain.get_tuple_name()
    position = domain.dim(isl.dim_type.param)
    domain = domain.add_dims(isl.dim_type.param, len(sizes))
    for place, size in enumerate(sizes):
        domain = domain.set_dim_name(isl.dim_type.param, position + place, size.name)
    result = isl.Set.empty(domain.get_space())
    for piece in basic_sets_of(domain):
        made = isl.BasicSet.universe(domain.get_space())
        for constraint in piece.get_constraints():
            number, has_size = constant_term(constraint), _has_size(constraint)
            for place, size in enumerate(sizes):
                if has_size and size.value <= abs(number) <= size.value + size.spread:
                    sign = 1 if number > 0 else -1
                    offset = abs(number) - size.value
                    constraint = constraint.set_constant_val(isl.Val(sign * offset))
                    constraint = constraint.set_coefficient_val(
                        isl.dim_type.param, position + place, isl.Val(sign)
                    )
            made = made.add_constraint(constraint)
        result = result.union(isl.Set.from_basic_set(made))
    return result.set_tuple_name(name) if name else result
