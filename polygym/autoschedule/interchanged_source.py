"""The source with two loops interchanged, where that makes a loop walk along rows.

::

    for j: for k: a[k][j] = a[k][j + 1] + …     →     for k: for j: a[k][j] = a[k][j + 1] + …

The loops that stand around all statements, one right inside of the other, may have another order:
one of them becomes the innermost of them, if fewer accesses are far apart from one of its
iterations to the next than they are now. Temporaries are private, as in
:mod:`polygym.autoschedule.threaded_source`, and the order is legal by all dependences that are
left. Inner loops are the source's, so LLVM makes of them what it makes of those: it unrolls filters
and finds vectors along the row.

Example: a bilateral filter of five by five, columns first, takes 5.2 ms as the source has it, with
rows first 2.5 ms, and 1.3 ms in two threads.
"""

from collections.abc import Iterator
from dataclasses import replace

from polygym.autoschedule.threaded_source import order_in_threads
from polygym.ir.scop import PRIVATE_STORAGE_CLASSES, Scop, Statement
from polygym.mapping.mapping import Mapping
from polygym.poly.innermost import AccessStride, InnermostLoop, access_stride
from polygym.poly.legality import find_violation
from polygym.poly.schedule import Schedule, ScheduleRow
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import Program


def interchanged_sources(program: Program, mapping: Mapping) -> Iterator[tuple[Schedule, Mapping]]:
    """Yield other orders of a program with private temporaries, and their mappings.

    Raises:
        LimitError: isl would take too long.
    """
    threads = mapping.threads if mapping.is_parallel else 1
    for order in interchanged_orders(program.scop):
        to = order_in_threads(program, order, threads)
        if to is not None:
            yield order, to


def interchanged_orders(scop: Scop) -> Iterator[Schedule]:
    """Yield the orders of a program in which another of its outer loops is the innermost of them.

    Raises:
        LimitError: isl would take too long.
    """
    source = original_schedule(scop)
    shared = _shared_loops(scop, source)
    if len(shared) < 2:
        return
    far = {place: _far_accesses(scop, source, place) for place in shared}
    for place in shared[:-1]:
        if far[place] < far[shared[-1]]:
            order = [*(other for other in shared if other != place), place]
            schedule = _permuted(source, dict(zip(shared, order, strict=True)))
            if find_violation(scop, schedule) is None:
                yield schedule


def _shared_loops(scop: Scop, source: Schedule) -> tuple[int, ...]:
    """Return the dimensions of the loops around all statements, up to where these part."""
    result = []
    for place in range(source.dimensions):
        rows = [source.rows(statement.name)[place] for statement in scop.statements]
        kinds = {_iterator_of(row) for row in rows}
        if all(row.is_constant for row in rows) and len({row.constant for row in rows}) == 1:
            continue
        if len(kinds) > 1 or None in kinds:
            break
        result.append(place)
    return tuple(result)


def _iterator_of(row: ScheduleRow) -> int | None:
    """Return the place of the iterator that a row is; None for a constant and all else."""
    places = [place for place, factor in enumerate(row.iterators) if factor]
    is_plain = len(places) == 1 and row.iterators[places[0]] == 1
    return places[0] if is_plain and not any(row.parameters) and not row.constant else None


def _far_accesses(scop: Scop, source: Schedule, place: int) -> int:
    """Return how many accesses are far apart from one iteration of a loop to the next.

    Private arrays have an element for each iteration here; they have one in code.
    """

    def strides(statement: Statement) -> Iterator[AccessStride]:
        loop = InnermostLoop(source.rows(statement.name)[place].iterators, 1)
        for access in (statement.write, *statement.reads):
            if scop.array(access.array).storage_class not in PRIVATE_STORAGE_CLASSES:
                yield access_stride(statement, access, loop)

    return sum(
        stride is AccessStride.FAR for statement in scop.statements for stride in strides(statement)
    )


def _permuted(schedule: Schedule, origins: dict[int, int]) -> Schedule:
    """Return a schedule with dimensions of another order: from where each is taken."""
    return replace(
        schedule,
        statements=tuple(
            replace(
                part,
                rows=tuple(part.rows[origins.get(place, place)] for place in range(len(part.rows))),
            )
            for part in schedule.statements
        ),
    )
