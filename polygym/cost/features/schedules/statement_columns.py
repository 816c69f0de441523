"""Feature columns of a schedule: access strides of loops, and loops that dependences leave free.

All functions take all statements at once and return columns by their names. What loops move is what
:mod:`polygym.cost.features.candidates.nest_vectors` says of loops that do one thing, in one thread,
and the tests compare the two.

The untiled loops of all statements at once: the numbers of ``nests``, quickly.

What :func:`polygym.cost.features.loops.nests.untiled_nest` says of one statement's loops is said
here of all statements of a program in one go: arrays with a row for every statement or reference,
filled up with loops that run once. It is for rows of thousands of schedules; the tests compare it
with the other, number for number. What the loops touch is for
:mod:`polygym.cost.features.loops.footprints` to say.

Which rows of a schedule are loops. Let a₁, a₂, … be the rows of a statement that are loops so far,
G their Gram matrix, and P the projector on what they leave free. For a further row a

    det G' = |P·a|²·det G,

and both determinants are integers: a is independent of the others iff the right side is not 0, so
it need only be known to less than 1/2. Floating point knows it so up to |a|²·det G = 10¹²; beyond,
integers decide (:func:`polygym.poly.innermost.independent_rows`). Example: after (1, 1) with
G = 2, the row (2, 2) has P·a = 0, and (1, 0) has P·a = (1/2, -1/2) and det G' = 1/2·2 = 1.

Where the rows of a schedule leave instances tied, the loops that are missing are those of the
original order, which come last.
"""

from dataclasses import dataclass

import numpy as np

from polygym.cost.features.loops.cache_lines import LINE_BYTES
from polygym.cost.features.loops.column_names import ADD_LATENCY, BOUND_COLUMNS, TRAFFIC_COLUMNS
from polygym.cost.features.loops.footprints import StackedLoops, traffic_and_length_columns
from polygym.cost.features.loops.nests import Floats, snap_to_zero
from polygym.cost.features.loops.stacked_statements import Integers, StackedStatements
from polygym.cost.features.schedules.ordering import ScheduleOrdering
from polygym.cost.features.schedules.program_features import ProgramFeatures
from polygym.cost.features.statements.row_steps import row_step
from polygym.poly.innermost import independent_rows

# Up to this a determinant in floating point is wrong by far less than 1/2.
_MAX_EXACT = 1e12
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class RowLoops(StackedLoops):
    """Loops of all statements, their places in the schedule (``rows``), and their ``row_vectors``.

    A place behind the last row is one of the original order. Vectors are the iterators' parts.
    """

    rows: Integers
    row_vectors: Floats


def schedule_loops(stack: StackedStatements, rows: Floats) -> RowLoops:
    """Return the loops that the rows of a schedule make; rows are S·K·D."""
    every = np.concatenate([rows, stack.original], axis=1)
    chosen = _independent_rows(stack, every)
    is_loop = np.arange(every.shape[2]) < stack.counts[:, None]
    places = np.arange(len(every))[:, None]
    vectors = every[places, chosen] * is_loop[:, :, None]
    values = stack.corners @ vectors.transpose(0, 2, 1)
    high, low = np.floor(values.max(axis=1) + _ROUNDING), np.ceil(values.min(axis=1) - _ROUNDING)
    steps = _row_steps(stack, vectors)
    lengths = np.where(is_loop, np.maximum(1.0, (high - low) // steps + 1.0), 1.0)
    square = np.where(is_loop[:, :, None], vectors, stack.equations.fillers)
    inverse = np.linalg.inv(square) * (is_loop * steps)[:, None, :]
    moves = snap_to_zero(stack.references.access_strides @ inverse[stack.references.owners])
    strides = np.einsum("re,rel->rl", stack.references.strides, moves)
    box = lengths[:, ::-1].cumprod(axis=1)[:, ::-1]
    return RowLoops(stack.counts, lengths, box, moves, strides, chosen, vectors)


def _row_steps(stack: StackedStatements, vectors: Floats) -> Floats:
    """Return by how much the rows of loops grow, S·D."""
    rows = vectors.astype(np.int64)
    floats: Floats = np.maximum(1.0, np.gcd.reduce(rows, axis=2, initial=0))
    for place, work in enumerate(stack.works):
        if not work.domain_holes:
            continue
        own = [tuple(map(int, row)) for row in rows[place, : stack.counts[place], : work.depth]]
        for number, row in enumerate(own):
            floats[place, number] = row_step(work.domain_holes, row, own[:number])
    return floats


def _independent_rows(stack: StackedStatements, rows: Floats) -> Integers:
    """Return the places of each statement's independent rows."""
    count, most, depth = rows.shape
    array = np.zeros((count, depth), dtype=np.int64)
    filled = np.zeros(count, dtype=np.int64)
    free, grams = stack.equations.free, stack.equations.grams
    squares = np.einsum("skd,skd->sk", rows, rows)
    for place in range(most):
        left = np.einsum("sde,se->sd", free, rows[:, place])
        rest = (left * left).sum(axis=1)
        if (squares[:, place] * grams).max() > _MAX_EXACT:
            return _independent_rows_exactly(stack, rows)
        is_new = rest * grams > 0.5
        (at,) = is_new.nonzero()
        if not len(at):
            continue
        array[at, filled[at]] = place
        filled[at] += 1
        if (filled >= stack.counts).all():
            break
        scale = np.where(is_new, rest, 1.0)
        gone = left * is_new[:, None]
        free = free - gone[:, :, None] * (gone / scale[:, None])[:, None, :]
        grams = grams * scale
    return array


def _independent_rows_exactly(stack: StackedStatements, rows: Floats) -> Integers:
    """Return the places of each statement's independent rows, by integers."""
    array = np.zeros((rows.shape[0], rows.shape[2]), dtype=np.int64)
    for place, (work, plane) in enumerate(zip(stack.works, stack.equations.equations, strict=True)):
        own = [tuple(map(int, row)) for row in rows[place, :, : work.depth]]
        places = independent_rows(own, plane)
        array[place, : len(places)] = places
    return array


LOG_SCALED = (
    "operations",
    "instances",
    "share",
    "innermost_length",
    "inner_two_length",
    "footprint",
    *TRAFFIC_COLUMNS,
    *BOUND_COLUMNS,
    "cycles",
    "loop_overhead",
    "parallel_length",
    "parallel_starts",
    "vector_length",
    "sharing_first",
    "sharing_last",
    "largest",
    "inner_bytes",
)
_UNSCALED = (
    "depth",
    "chain",
    "unit_strides",
    "inner_still",
    "inner_far",
    "parallel_loops",
    "outer_parallel",
    "inner_parallel",
    "first_band",
    "first_coincident",
    "last_band",
    "longest_band",
    "vector_fit",
    "shared_loops",
    "skewed",
)
STATEMENT_COLUMNS = (*LOG_SCALED, *_UNSCALED)
"""The columns of a statement."""


def loop_columns(
    program: ProgramFeatures, loops: RowLoops, working: Floats, traffic: Floats
) -> dict[str, Floats]:
    """Return the nest features (``nest_vectors``) of loops that do one thing."""
    stack = program.statements
    touched = stack.references
    last = np.maximum(stack.counts - 1, 0)
    still = touched.writes & (
        loops.strides[np.arange(len(touched.owners)), last[touched.owners]] == 0.0
    )
    waits = (
        np.logical_or.reduceat(still, touched.starts) & program.is_reduction & (stack.counts > 0)
    )
    chain = np.where(waits, ADD_LATENCY / np.maximum(1.0, program.operations), 0.0)
    per_operation = program.accesses / np.maximum(1.0, program.operations)
    columns = traffic_and_length_columns(
        program.operations, program.instances, stack.counts, loops.lengths, working, traffic
    )
    needed = np.maximum(0.5, np.maximum(per_operation, chain))
    return {**columns, "cycles": columns["operations"] * needed, "chain": chain}


def stride_columns(program: ProgramFeatures, loops: RowLoops) -> dict[str, Floats]:
    """Return how references move in the innermost loop, each counted as often as it is accessed."""
    stack = program.statements
    touched = stack.references
    last = np.maximum(stack.counts - 1, 0)[touched.owners]
    step = np.abs(loops.strides[np.arange(len(last)), last])
    weight = touched.reads + touched.writes
    is_unit = (step <= 1.0) & (stack.counts > 0)[touched.owners]
    bytes_ = np.minimum(float(LINE_BYTES), step * touched.bytes) * weight
    parts = np.stack([weight * (step == 0.0), weight * (step > 8.0), is_unit * 1.0, bytes_], axis=1)
    still, far, unit, inner = np.add.reduceat(parts, touched.starts, axis=0).T
    references = np.bincount(touched.owners)
    return {
        "inner_still": still / program.accesses,
        "inner_far": far / program.accesses,
        "unit_strides": unit / references,
        "inner_bytes": inner,
    }


def parallelism_columns(
    program: ProgramFeatures, loops: RowLoops, order: ScheduleOrdering
) -> dict[str, Floats]:
    """Return what dependences leave free, and how statements share loops."""
    stack, count = program.statements, len(program.statements.works)
    touched = stack.references
    is_loop, lengths = loops.is_loop, loops.lengths
    every, width = np.arange(count), is_loop.shape[1]
    last = np.maximum(stack.counts - 1, 0)
    # Behind the rows come those of the original order, which nothing orders any more.
    parallel = (
        _at_loop_rows([(*statement.parallel, True) for statement in order.statements], loops.rows)
        > 0
    ) & is_loop
    coincident = (
        _at_loop_rows([(*statement.coincident, True) for statement in order.statements], loops.rows)
        > 0
    )
    band = _at_loop_rows([(*parallelism.band, -1) for parallelism in order.statements], loops.rows)
    group = _at_loop_rows(
        [statement_parallelism.group for statement_parallelism in order.statements], loops.rows
    )
    coincident &= is_loop
    outer = lengths.cumprod(axis=1) / lengths
    some = parallel.any(axis=1)
    at = parallel.argmax(axis=1)
    in_first = (band == band[:, :1]) & is_loop
    in_last = (band == band[every, last][:, None]) & is_loop
    members = ((band[:, :, None] == band[:, None, :]) & is_loop[:, None, :]).sum(axis=2) * is_loop
    # A vector takes a loop of the innermost band that is coincident, or the innermost one.
    may_be = coincident & in_last
    may_be[every, last] |= parallel[every, last]
    weight = (touched.reads + touched.writes)[:, None]
    units = np.add.reduceat(weight * (np.abs(loops.strides) <= 1.0), touched.starts, axis=0)
    fit = np.where(may_be, units / program.accesses[:, None], 0.0)
    best = width - 1 - fit[:, ::-1].argmax(axis=1)
    factors = np.abs(loops.row_vectors)
    return {
        "parallel_loops": parallel.sum(axis=1),
        "outer_parallel": parallel[:, 0],
        "inner_parallel": parallel[every, last],
        "parallel_length": np.where(some, lengths[every, at], 0.0),
        "parallel_starts": np.where(some, outer[every, at], 0.0),
        "first_band": in_first.sum(axis=1),
        "first_coincident": (coincident & in_first).sum(axis=1),
        "last_band": in_last.sum(axis=1),
        "longest_band": members.max(axis=1),
        "vector_fit": fit[every, best],
        "vector_length": np.where(fit[every, best] > 0, lengths[every, best], 0.0),
        "sharing_first": group[:, 0] - 1.0,
        "sharing_last": group[every, last] - 1.0,
        "shared_loops": ((group > 1) & is_loop).sum(axis=1),
        "skewed": ((factors > 0).sum(axis=2) > 1).sum(axis=1),
        "largest": factors.max(axis=(1, 2)),
    }


def _at_loop_rows(values: list[tuple[int, ...]], rows: Integers) -> Integers:
    """Return what holds at the rows of loops; behind all rows the last value holds."""
    every = np.array(values, dtype=np.int64)
    places = np.arange(len(every))[:, None]
    return np.asarray(every[places, np.minimum(rows, every.shape[1] - 1)])


def program_columns(program: ProgramFeatures, loops: RowLoops, order: ScheduleOrdering) -> Floats:
    """Return what there is to say of the program: its nests, and what carries dependences."""
    group = np.array([parallelism.group for parallelism in order.statements], dtype=np.float64)
    every = np.arange(len(group))
    top = np.minimum(loops.rows[:, 0], group.shape[1] - 1)
    nests = [float(len(group)), float((1.0 / group[every, top]).sum())]
    nests.append(float((1.0 / group[:, -1]).sum()))
    if not len(program.pairs):
        return np.array([*nests, 0.0, 0.0, 0.0])
    behind = order.is_constant_row.shape[1]
    carried = np.array([behind if row is None else row for row in order.carried])
    carried = np.maximum.reduceat(carried, program.pairs)
    sinks = program.sinks
    kept = np.minimum(carried, behind - 1)
    apart = order.is_constant_row[sinks, kept] & (carried < behind)
    by_first = ~apart & (carried <= loops.rows[sinks, 0])
    inside = ~apart & ~by_first
    return np.array([*nests, apart.mean(), by_first.mean(), inside.mean()])
