"""Which values an array of indices may hold, so that the gathers that use them stay in range.

A program's data are made by a rule where nobody gives any. An array I that is used as in
X[I[i] + j] must then hold such values v that 0 <= v + j < n wherever the statement runs. Let the
subscript be

    c₁·v₁ + … + cₘ·vₘ + a(i, n)        with cₖ ≠ 0 and vₖ the value that load k finds,

and a its affine rest, which over the statement's instances lies in [low, high]. The loads share the
room that is left, W = n - 1 - (high - low), in equal parts of s = ⌊W / m⌋. All but the first get
|cₖ|·vₖ in [0, s]; the first one makes up for low and for those with a negative factor:

    c₁·v₁ in [b, b + s]        with b = s · #{k > 1 : cₖ < 0} - low.

Example: X[I[i] + j], 0 <= j < 3: a = j lies in [0, 2], so W = n - 3 and 0 <= v <= n - 3. An array
that is used in several ways gets what is good for all of them. Subscripts of another form, such as
I[i] % n or I[i] * J[i], get values from 0 to n - 1 for each of their loads; whether these are good
is seen when the program runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polygym.ir.expr import (
    Binary,
    BinaryOperator,
    Cast,
    Expression,
    Gather,
    IntegerLiteral,
    IteratorValue,
    Load,
    ParameterValue,
    Unary,
    UnaryOperator,
    loads,
)
from polygym.ir.gathers import Site, sites
from polygym.ir.scop import Scop, Statement
from polygym.ir.types import ScalarType
from polygym.poly.quota import bounded


@dataclass(frozen=True, slots=True)
class ValidRange:
    """The values from ``lowest`` to ``highest``: functions of the parameters, in the context."""

    lowest: isl.PwAff
    highest: isl.PwAff


def valid_indices(scop: Scop) -> dict[str, ValidRange]:
    """Return the range of values of every array from which subscripts are computed."""
    found: dict[str, ValidRange] = {}
    context = isl.Set(scop.context)
    with bounded("finding valid indices"):
        for site in sites(scop):
            for array, values in _of_site(scop, site):
                before = found.get(array, values)
                found[array] = ValidRange(
                    before.lowest.max(values.lowest).coalesce(),
                    before.highest.min(values.highest).coalesce(),
                )
        return {name: _fitting(one, scop.array(name).type, context) for name, one in found.items()}


def _fitting(values: ValidRange, scalar: ScalarType, context: isl.Set) -> ValidRange:
    """Return those of the values that a type has; sizes themselves are of 32 bits."""
    lowest, highest = values.lowest, values.highest
    if not scalar.is_signed:
        lowest = lowest.max(_constant(context, 0)).coalesce()
    if scalar.bits < ScalarType.INT.bits:
        lowest = lowest.max(_constant(context, scalar.lowest)).coalesce()
        highest = highest.min(_constant(context, scalar.highest)).coalesce()
    return ValidRange(lowest, highest)


@dataclass(frozen=True, slots=True)
class _Sum:
    """Loads with their factors, and an affine rest as terms with theirs."""

    loads: tuple[tuple[str, int], ...]
    rest: tuple[tuple[str, int], ...]
    constant: int

    def plus(self, other: _Sum, factor: int = 1) -> _Sum:
        return _Sum(
            self.loads + tuple((name, factor * c) for name, c in other.loads),
            self.rest + tuple((name, factor * c) for name, c in other.rest),
            self.constant + factor * other.constant,
        )


_ZERO = _Sum((), (), 0)


def _sum(expression: Expression) -> _Sum | None:
    """Return an expression as a sum; None if it is none."""
    match expression:
        case IntegerLiteral(value):
            return _Sum((), (), value)
        case IteratorValue(name) | ParameterValue(name):
            return _Sum((), ((name, 1),), 0)
        case Load(access) | Gather(access):
            return _Sum(((access.array, 1),), (), 0)
        case Cast(operand) if operand.type.is_integer and expression.type.is_integer:
            return _sum(operand)
        case Unary(UnaryOperator.NEGATE, operand):
            inner = _sum(operand)
            return None if inner is None else _ZERO.plus(inner, -1)
        case Binary(BinaryOperator.ADD | BinaryOperator.SUBTRACT as operator, left, right):
            first, second = _sum(left), _sum(right)
            if first is None or second is None:
                return None
            return first.plus(second, 1 if operator is BinaryOperator.ADD else -1)
        case Binary(BinaryOperator.MULTIPLY, left, right):
            first, second = _sum(left), _sum(right)
            if first is None or second is None:
                return None
            for factor, other in ((first, second), (second, first)):
                if not factor.loads and not factor.rest:
                    return _ZERO.plus(other, factor.constant)
            return None
        case _:
            return None


def _of_site(scop: Scop, site: Site) -> list[tuple[str, ValidRange]]:
    """Return what one subscript asks of the arrays in it."""
    context = isl.Set(scop.context)
    size = isl.PwAff(scop.array(site.array).extents[site.dimension])
    found = _sum(site.subscript)
    if found is None or any(not factor for _, factor in found.loads):
        plain = ValidRange(_constant(context, 0), _plus(size, -1).intersect_params(context))
        return [(access.array, plain) for access in loads(site.subscript)]
    low, high = _extremes(scop, scop.statement(site.statement), found)
    room = _plus(size, -1).sub(high.sub(low))
    count = len(found.loads)
    share = room.scale_down_val(isl.Val(count)).floor()
    negative = sum(factor < 0 for _, factor in found.loads[1:])
    base = share.scale_val(isl.Val(negative)).sub(low)
    result = []
    for place, (array, factor) in enumerate(found.loads):
        begin = _constant(context, 0) if place else base
        ends = [begin, begin.add(share)] if factor > 0 or not place else [begin, share]
        result.append((array, _divided(ends, factor if not place else abs(factor))))
    return result


def _divided(ends: list[isl.PwAff], factor: int) -> ValidRange:
    """Return the values that, times the factor, lie between two ends."""
    lowest, highest = ends if factor > 0 else (ends[1].neg(), ends[0].neg())
    scale = isl.Val(abs(factor))
    return ValidRange(lowest.scale_down_val(scale).ceil(), highest.scale_down_val(scale).floor())


def _extremes(scop: Scop, statement: Statement, found: _Sum) -> tuple[isl.PwAff, isl.PwAff]:
    """Return the least and the largest value of the affine rest over the statement's instances."""
    names = ", ".join(parameter.name for parameter in scop.parameters)
    terms = [f"{factor} * {name}" for name, factor in found.rest]
    text = " + ".join([*terms, str(found.constant)])
    instances = f"{statement.name}[{', '.join(statement.iterators)}]"
    value = isl.Map(f"[{names}] -> {{ {instances} -> [{text}] }}")
    domain = isl.Set(statement.domain).intersect_params(isl.Set(scop.context))
    values = domain.apply(value)
    return values.dim_min(0), values.dim_max(0)


def _constant(context: isl.Set, value: int) -> isl.PwAff:
    return isl.PwAff.val_on_domain(context, isl.Val(value))


def _plus(value: isl.PwAff, constant: int) -> isl.PwAff:
    return value.add_constant_val(isl.Val(constant))
