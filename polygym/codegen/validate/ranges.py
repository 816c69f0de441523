"""Does the index arithmetic of a loop program fit 64 bits? Checked before code is made of it.

The integers of the polyhedral model have no size; those of the machine do, and the generated code
promises LLVM that they do not overflow. So every expression gets an interval: parameters have the
range of their type (``long`` ones are kept below 2^48 where programs are loaded), a loop's counter
runs between the smallest lower and the greatest upper bound, and operators combine the ends.

Example: with ``int n``, the bound ``3 * n + c0`` lies within 3 * 2^31 and a bit, far from 2^62; the
product of two coefficients of 2^31, which a schedule may have, and ``n`` does not.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias, assert_never

from polygym.codegen.loopir import ir
from polygym.errors import InputError
from polygym.ir.scop import Scop

MAX_INDEX_VALUE = 2**62

IntegerInterval: TypeAlias = tuple[int, int]

MAX_LONG_PARAMETER = 2**48
"""The bound of the absolute values of parameters of 64 bits; others have that of their types."""

_MAX_INT_PARAMETER = 2**31
_TRUTH_INTERVAL: IntegerInterval = (0, 1)


def check_ranges(body: ir.Node, scop: Scop) -> None:
    """Refuse a program in which some index expression might not fit.

    Raises:
        InputError: the numbers of the schedule are too large.
    """
    _check_node(body, parameter_ranges(scop))


def parameter_ranges(scop: Scop) -> dict[str, IntegerInterval]:
    """Return the interval of every parameter."""
    limits = {
        p.name: MAX_LONG_PARAMETER if p.type.size == 8 else _MAX_INT_PARAMETER
        for p in scop.parameters
    }
    return {name: (-limit, limit) for name, limit in limits.items()}


def _check_node(node: ir.Node, ranges: Mapping[str, IntegerInterval]) -> None:
    match node:
        case ir.Block(children):
            for child in children:
                _check_node(child, ranges)
        case ir.Loop(variable, lower, upper, step, inner):
            # A loop that does not run may have its bounds the wrong way round; what it may cost
            # is estimated in between all the same.
            low, high = interval_of(lower, ranges), interval_of(upper, ranges)
            counter = _hull((*low, *high, high[1] + step))
            _check_node(inner, {**ranges, variable: _checked(counter)})
        case ir.Guard(condition, then, otherwise):
            interval_of(condition, ranges)
            _check_node(then, ranges)
            if otherwise is not None:
                _check_node(otherwise, ranges)
        case ir.Instance(_, iterators, write, reads, lanes):
            if lanes is not None:
                base = interval_of(lanes.base, ranges)
                lane = _checked((base[0], base[1] + lanes.width))
                ranges = {**ranges, lanes.variable: lane}
                if lanes.active is not None:
                    interval_of(lanes.active, ranges)
            for index in (*iterators, *write, *(part for read in reads for part in read)):
                interval_of(index, ranges)
        case _:
            assert_never(node)


def interval_of(index: ir.Index, ranges: Mapping[str, IntegerInterval]) -> IntegerInterval:
    """Return the interval of an index; every part of it is checked on the way."""
    match index:
        case ir.IndexConstant(value):
            return _checked((value, value))
        case ir.IndexVariable(name):
            return ranges[name]
        case ir.IndexOperation(operator, operands):
            return _checked(_combined(operator, [interval_of(part, ranges) for part in operands]))
        case _:
            assert_never(index)


def _combined(operator: ir.IndexOperator, parts: list[IntegerInterval]) -> IntegerInterval:
    """Return the interval of an operation; for divisions the dividend's is wide enough."""
    first = parts[0]
    match operator:
        case ir.IndexOperator.NEGATE:
            return -first[1], -first[0]
        case ir.IndexOperator.ADD:
            return first[0] + parts[1][0], first[1] + parts[1][1]
        case ir.IndexOperator.SUBTRACT:
            return first[0] - parts[1][1], first[1] - parts[1][0]
        case ir.IndexOperator.MULTIPLY:
            return _hull(a * b for a in first for b in parts[1])
        case _ if operator in ir.QUOTIENTS:
            return _hull((*first, 0))
        case ir.IndexOperator.REMAINDER_NONNEGATIVE | ir.IndexOperator.REMAINDER_ZERO_TEST:
            most = max(map(abs, parts[1]))
            return 1 - most, most - 1
        case ir.IndexOperator.MINIMUM:
            return min(low for low, _ in parts), min(high for _, high in parts)
        case ir.IndexOperator.MAXIMUM:
            return max(low for low, _ in parts), max(high for _, high in parts)
        case ir.IndexOperator.SELECT:
            return _hull((*parts[1], *parts[2]))
        case _:  # a comparison or a connective
            return _TRUTH_INTERVAL


def _hull(values: Iterable[int]) -> IntegerInterval:
    ends = tuple(values)
    return min(ends), max(ends)


def _checked(checked_interval: IntegerInterval) -> IntegerInterval:
    """Return the interval if it fits.

    Raises:
        InputError: it does not.
    """
    if max(abs(checked_interval[0]), abs(checked_interval[1])) > MAX_INDEX_VALUE:
        raise InputError(
            "the schedule's numbers are too large: loop bounds and subscripts would not fit 64 bits"
        )
    return checked_interval
