"""Loops whose terms the threads of a block take together, where points alone are too few.

A band of few points, as the rows of a softmax are, has a block for each point; a band without any
has as many blocks as the device has multiprocessors, twice. It is done at known sizes, for floats
if the mapping may reassociate.
"""

from __future__ import annotations

from collections.abc import Iterator

from polygym.codegen.common.reductions import reduction_operator
from polygym.codegen.tree.analysis.trip_counts import member_trip_count
from polygym.codegen.tree.ir import Band, loop_paths
from polygym.gpu.mapping.device_model import DeviceModel
from polygym.gpu.promotion.block_sums import combination
from polygym.gpu.shared_loops.roles import SumLoop
from polygym.ir.scop import Scop, Statement
from polygym.mapping.sizes import Sizes

_LEAST_TERMS = 64
_MOST_THREADS = 256
_TERMS_PER_THREAD = 4


def sum_roles(
    band: Band, scop: Scop, sizes: Sizes, parameters: tuple[str, ...], *, reassociate: bool
) -> Iterator[tuple[str, int]]:
    """Yield the statements of a band that are sums, with the iterations of their outermost loop.

    That is the first of those that are not coincident, none of which stands around one that is.
    """
    for name, path in loop_paths(band, band.statements):
        statement = scop.statement(name)
        if not (statement.body.type.is_integer or reassociate) or combination(statement) is None:
            continue
        rest = [member for member in path if not member.coincident]
        if not rest or any(member.coincident for member in path[len(band.members) :]):
            continue
        outermost = member_trip_count(scop, (name,), rest[0], parameters, sizes)
        if outermost >= _LEAST_TERMS:
            yield name, outermost


def threads_for(terms: int) -> int:
    """Return the threads for so many terms, a power of two.

    >>> threads_for(64), threads_for(3000)
    (32, 256)
    """
    result = 32
    while result < _MOST_THREADS and 2 * result * 2 <= terms:
        result *= 2
    return result


def whole_sum(model: DeviceModel, statement: Statement, terms: int) -> SumLoop:
    """Return the role of a sum that has the device to itself.

    An extreme begins with the element, which other blocks may update: it has a single block.
    """
    threads, operator = threads_for(terms), reduction_operator(statement)
    if operator is None or operator.is_idempotent:
        return SumLoop(threads)
    wanted = -(-terms // (threads * _TERMS_PER_THREAD))
    return SumLoop(threads, max(1, min(wanted, 2 * model.multiprocessors)))
