"""How many loops of the source two statements share."""

from __future__ import annotations

from functools import lru_cache

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.schedule import Row


@lru_cache(maxsize=64)
def _nests(scop: Scop) -> dict[tuple[str, str], int]:
    order = original(scop)
    rows = {statement.name: order.rows(statement.name) for statement in scop.statements}
    return {
        (first, second): _shared(rows[first], rows[second]) for first in rows for second in rows
    }


def shared_loops(scop: Scop, first: str, second: str) -> int:
    """Return the number of loops that surround both statements (all of its own, for one).

    In the original order a loop is a row that depends on iterators, and statements part ways at
    the first row in which both have a constant and the constants differ.
    """
    return _nests(scop)[first, second]


def _shared(first: tuple[Row, ...], second: tuple[Row, ...]) -> int:
    count = 0
    for one, other in zip(first, second, strict=True):
        if one.is_constant != other.is_constant:
            break
        if one.is_constant:
            if one != other:
                break
        else:
            count += 1
    return count
