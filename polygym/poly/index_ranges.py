"""Ranges of index arrays that keep gathers in range, and arrays of divisors.

A program's data are made by a rule where the user gives none. An array I that is used as in
X[I[i] + j] must then hold such values v that 0 <= v + j < n wherever the statement runs. Let the
subscript be

    c₁·v₁ + … + cₘ·vₘ + a(i, n)        with cₖ ≠ 0 and vₖ the value that load k finds,

and a its affine rest, which over the statement's instances lies in [low, high]. The loads share the
slack that is left, W = n - 1 - (high - low), in equal parts of s = ⌊W / m⌋. All but the first get
|cₖ|·vₖ in [0, s]; the first one makes up for low and for those with a negative factor:

    c₁·v₁ in [b, b + s]        with b = s · #{k > 1 : cₖ < 0} - low.

Example: X[I[i] + j], 0 <= j < 3: a = j lies in [0, 2], so W = n - 3 and 0 <= v <= n - 3. An array
that is used in several ways gets what is good for all of them. Where the program itself computes an
array of indices, J[i] = I[i] + 1 in one place and X[J[k]] in another, what it assigns stands for
what is loaded; its affine rest has its own instances. Subscripts of another form, such as
I[i] % n or I[i] * J[i], get values from 0 to n - 1 for each of their loads; whether these are good
is seen when the program runs.

Arrays by which a program divides should be far from zero where it does.

A divisor of floating numbers reads some arrays; these, and all from which they are computed, are
*divided by*. Elimination without pivots, and what it reads, for example::

    A[i][j] -= A[i][k] / A[k][k] * A[k][j]                                A
    U[i][j] = A[i][j];  U[i][j] -= U[i][k] / U[k][k] * U[k][j]            U and A
    p = A[k][k];  f = A[i][k] / p;  A[i][j] -= f * A[k][j]                p, A and f

An array of which one of fewer dimensions is a sum does not count: a norm or a mean of many elements
says little about one of them. ``s[i] += I[i][j];  O[i][j] = I[i][j] / s[i]`` divides by s alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import islpy as isl

from polygym.ir import expressions
from polygym.ir.data_bounds import DataBound, guard_conjuncts
from polygym.ir.gathers import ComputedSubscript, computed_subscripts
from polygym.ir.scop import Scop, Statement, StorageClass
from polygym.ir.types import ScalarType
from polygym.poly.isl_budget import bounded_operations

_READS = (expressions.Load, expressions.Gather)


def divisor_arrays(scop: Scop) -> frozenset[str]:
    """Return the names of the arrays and scalars that a program divides by."""
    result: set[str] = set()
    left = {name for statement in scop.statements for name in _divisors(statement)}
    while left:
        result |= left
        writing = (statement for statement in scop.statements if statement.write.array in left)
        left = {name for statement in writing for name in _sources(statement)} - result
    return frozenset(result)


def _divisors(statement: Statement) -> Iterator[str]:
    """Yield the arrays that are read in divisors of floating numbers."""
    for node in expressions.walk(statement.body):
        if (
            isinstance(node, expressions.Binary)
            and node.operator is expressions.BinaryOperator.DIVIDE
            and node.type.is_floating
        ):
            yield from (access.array for access in expressions.loaded_accesses(node.right))


def _sources(statement: Statement) -> Iterator[str]:
    """Yield the arrays from which a statement computes, but for those that it sums up."""
    rank = _rank(statement.write)
    for access in statement.reads:
        if not statement.accumulator_reads or _rank(access) <= rank:
            yield access.array


def _rank(access: expressions.Access) -> int:
    return int(isl.Map(access.relation).dim(isl.dim_type.out))


@dataclass(frozen=True, slots=True)
class IndexRange:
    """The values from ``lowest`` to ``highest``: functions of the parameters, in the context."""

    lowest: isl.PwAff
    highest: isl.PwAff


def valid_index_ranges(scop: Scop) -> dict[str, IndexRange]:
    """Return the range of values of every array from which subscripts are computed."""
    ranges: dict[str, IndexRange] = {}
    context = isl.Set(scop.context)
    with bounded_operations("finding valid indices"):
        for site in computed_subscripts(scop):
            for array, values in _of_site(scop, site):
                before = ranges.get(array, values)
                ranges[array] = IndexRange(
                    before.lowest.max(values.lowest).coalesce(),
                    before.highest.min(values.highest).coalesce(),
                )
        return {
            name: _fitting(index_range, scop.array(name).type, context)
            for name, index_range in ranges.items()
        }


def row_start_ranges(scop: Scop) -> dict[str, IndexRange]:
    """Return the range of values of arrays of which each two neighbours bound a loop.

    Of ``for (k = row[i]; k < row[i + 1]; k++)``, where k is below nnz, it is 0 to nnz for ``row``.
    """
    ranges: dict[str, IndexRange] = {}
    context = isl.Set(scop.context)
    copies = {
        statement.write.array: arrays
        for statement in scop.statements
        if (arrays := _copied_arrays(statement.body))
    }
    with bounded_operations("finding the starts of rows"):
        for statement in scop.statements:
            bounds = [part.bound for part in guard_conjuncts(statement) if part.bound is not None]
            for lower, upper in product(bounds, bounds):
                if lower.iterator != upper.iterator or not lower.is_lower or upper.is_lower:
                    continue
                both = _bound_arrays(lower, copies) & _bound_arrays(upper, copies)
                place = statement.iterators.index(lower.iterator)
                domain = isl.Set(statement.domain).intersect_params(context)
                end = domain.dim_max(place).add_constant_val(isl.Val(1))
                for name in both:
                    ranges[name] = IndexRange(domain.dim_min(place), end)
    return {name: values for name, values in ranges.items() if scop.array(name).rank == 1}


def _bound_arrays(bound: DataBound, copies: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the arrays whose elements bound a loop, directly or through a scalar."""
    names = set(_read_arrays(bound.value))
    return frozenset[str]().union(*(copies.get(name, frozenset({name})) for name in names))


def _read_arrays(value: expressions.Expression) -> Iterator[str]:
    """Yield the arrays that an expression reads, but for those in computed subscripts."""
    if isinstance(value, _READS):
        yield value.access.array
        return
    for part in expressions.children(value):
        yield from _read_arrays(part)


def _copied_arrays(body: expressions.Expression) -> frozenset[str]:
    """Return the array of which a statement copies an element, if it does."""
    while isinstance(body, expressions.Cast):
        body = body.operand
    return frozenset({body.access.array}) if isinstance(body, _READS) else frozenset()


def _fitting(values: IndexRange, scalar: ScalarType, context: isl.Set) -> IndexRange:
    """Return those of the values that a type has; sizes themselves are of 32 bits."""
    lowest, highest = values.lowest, values.highest
    if not scalar.is_signed:
        lowest = lowest.max(_constant(context, 0)).coalesce()
    if scalar.bits < ScalarType.INT.bits:
        lowest = lowest.max(_constant(context, scalar.lowest)).coalesce()
        highest = highest.min(_constant(context, scalar.highest)).coalesce()
    return IndexRange(lowest, highest)


@dataclass(frozen=True, slots=True)
class _LinearSum:
    """Loads with their factors, and an affine rest: terms of statements with theirs."""

    loads: tuple[tuple[str, int], ...]
    rest: tuple[tuple[str, str, int], ...]
    constant: int

    def plus(self, other: _LinearSum, factor: int = 1) -> _LinearSum:
        return _LinearSum(
            self.loads + tuple((name, factor * c) for name, c in other.loads),
            self.rest + tuple((where, name, factor * c) for where, name, c in other.rest),
            self.constant + factor * other.constant,
        )


_ZERO = _LinearSum((), (), 0)


def _linear_sum(
    scop: Scop, statement: Statement, expression: expressions.Expression
) -> _LinearSum | None:
    """Return an expression of a statement as a sum; None if it is none."""

    def part(operand: expressions.Expression) -> _LinearSum | None:
        return _linear_sum(scop, statement, operand)

    match expression:
        case expressions.IntegerLiteral(value):
            return _LinearSum((), (), value)
        case expressions.IteratorValue(name) | expressions.ParameterValue(name):
            return _LinearSum((), ((statement.name, name, 1),), 0)
        case expressions.Load(access) | expressions.Gather(access):
            writer = _only_writer(scop, access.array)
            assigned = None if writer is None else _linear_sum(scop, writer, writer.body)
            return _LinearSum(((access.array, 1),), (), 0) if assigned is None else assigned
        case expressions.Cast(operand) if operand.type.is_integer and expression.type.is_integer:
            return part(operand)
        case expressions.Unary(expressions.UnaryOperator.NEGATE, operand):
            inner = part(operand)
            return None if inner is None else _ZERO.plus(inner, -1)
        case expressions.Binary(
            expressions.BinaryOperator.ADD | expressions.BinaryOperator.SUBTRACT as operator,
            left,
            right,
        ):
            first, second = part(left), part(right)
            if first is None or second is None:
                return None
            return first.plus(second, 1 if operator is expressions.BinaryOperator.ADD else -1)
        case expressions.Binary(expressions.BinaryOperator.MULTIPLY, left, right):
            first, second = part(left), part(right)
            if first is None or second is None:
                return None
            for factor, other in ((first, second), (second, first)):
                if not factor.loads and not factor.rest:
                    return _ZERO.plus(other, factor.constant)
            return None
        case _:
            return None


def _only_writer(scop: Scop, array: str) -> Statement | None:
    """Return the statement that assigns a temporary, if one alone does and reads no part of it."""
    writers = [statement for statement in scop.statements if statement.write.array == array]
    if scop.array(array).storage_class is not StorageClass.LOCAL or len(writers) != 1:
        return None
    (writer,) = writers
    return None if any(access.array == array for access in writer.reads) else writer


def _of_site(scop: Scop, site: ComputedSubscript) -> list[tuple[str, IndexRange]]:
    """Return what one subscript asks of the arrays in it."""
    context = isl.Set(scop.context)
    size = isl.PwAff(scop.array(site.array).extents[site.dimension])
    linear_sum = _linear_sum(scop, scop.statement(site.statement), site.subscript)
    if linear_sum is None or any(not factor for _, factor in linear_sum.loads):
        plain = IndexRange(_constant(context, 0), _plus(size, -1).intersect_params(context))
        return [(access.array, plain) for access in expressions.loaded_accesses(site.subscript)]
    if not linear_sum.loads:
        return []
    low, high = _value_bounds(scop, context, linear_sum)
    room = _plus(size, -1).sub(high.sub(low))
    count = len(linear_sum.loads)
    share = room.scale_down_val(isl.Val(count)).floor()
    negative = sum(factor < 0 for _, factor in linear_sum.loads[1:])
    base = share.scale_val(isl.Val(negative)).sub(low)
    result = []
    for place, (array, factor) in enumerate(linear_sum.loads):
        begin = _constant(context, 0) if place else base
        ends = [begin, begin.add(share)] if factor > 0 or not place else [begin, share]
        result.append((array, _divided(ends, factor if not place else abs(factor))))
    return result


def _divided(ends: list[isl.PwAff], factor: int) -> IndexRange:
    """Return the values that, times the factor, lie between two ends."""
    lowest, highest = ends if factor > 0 else (ends[1].neg(), ends[0].neg())
    scale = isl.Val(abs(factor))
    return IndexRange(lowest.scale_down_val(scale).ceil(), highest.scale_down_val(scale).floor())


def _value_bounds(scop: Scop, context: isl.Set, total: _LinearSum) -> tuple[isl.PwAff, isl.PwAff]:
    """Return the least and the largest value of the affine rest over the statements' instances."""
    names = ", ".join(parameter.name for parameter in scop.parameters)
    low = high = _constant(context, total.constant)
    for where in dict.fromkeys(where for where, _, _ in total.rest):
        statement = scop.statement(where)
        text = " + ".join(
            f"{factor} * {name}" for place, name, factor in total.rest if place == where
        )
        instances = f"{where}[{', '.join(statement.iterators)}]"
        value = isl.Map(f"[{names}] -> {{ {instances} -> [{text}] }}")
        values = isl.Set(statement.domain).intersect_params(context).apply(value)
        low, high = low.add(values.dim_min(0)), high.add(values.dim_max(0))
    return low, high


def _constant(context: isl.Set, value: int) -> isl.PwAff:
    return isl.PwAff.val_on_domain(context, isl.Val(value))


def _plus(value: isl.PwAff, constant: int) -> isl.PwAff:
    return value.add_constant_val(isl.Val(constant))
