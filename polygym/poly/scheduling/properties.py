"""Properties of a schedule, exactly: carried dependences, parallel loops, strides.

This is the view of a schedule that scores and observations are made from; nothing is run and
nothing is estimated. For a dependence D let D_k be the pairs of D with δ = 0 in the dimensions
before k (see :mod:`polygym.poly.distance`): those that dimension k may still order.

* Dimension k *carries* D completely when it is the first with D_{k+1} empty.
* Statements part ways at a dimension in which each of a group of them has a constant: those with
  different constants run one after the other from there on, in loops of their own. The statements
  that have not parted from S before dimension k are the *group* of S at k, and share its loop.
  (A statement with a constant among others with a loop stays: it runs within that loop.)
* Dimension k is *parallel* for S when δ = 0 on all of D_k, for every D between statements of the
  group of S at k. Then the iterations of that loop may run at the same time. (What is between
  different groups has been ordered by the constants: D_k is empty.)

Example, y = Ax in the original order, rows S: (0, i, 0) and T: (1, i, j)::

    dimension            0              1                 2
    S -> T               δ = 1          nothing left
    T -> T               δ = 0          δ = 0             δ = j' - j ≥ 1
    groups               {S, T}         {S} {T}           {S} {T}
    parallel for S       no             yes               yes
    parallel for T       no             yes               no

so S -> T is carried by dimension 0 and T -> T by dimension 2. Dimension 0 is no loop of either: a
row is a *loop* of a statement when its iterator part is linearly independent of those before it.
Loops that the schedule does not have, because it leaves instances of one statement tied, are taken
from the original order; they are parallel when nothing is left to order in the group.

All this is defined for any schedule. For a legal one δ ≥ 0 on D_k, so what is carried is satisfied.

The static score of a schedule, from its properties alone.

It stands in for the measured speedup where a deterministic number is wanted: rewards in tests,
training without a machine to time on, greedy choices. It is a rule of thumb for one core's caches
and vector unit and for several cores, and it knows neither sizes nor the machine.

    score = (0.01 + 0.48·locality + 0.30·parallelism + 0.20·vectors + 0.01·earliness) · simplicity

Every term is in [0, 1], so the score is in (0, 1]; more is better.

=============  =================================================================================
term           what it is
=============  =================================================================================
locality       for a statement, the mean over its accesses (the write and all reads) of the worth
               of the movement with the innermost loop: SAME 1, UNIT 0.8, SHORT 0.3, FAR 0
parallelism    for a statement, 1/2^p where p loops are outside of its outermost parallel loop;
               0 without a parallel loop
vectors        for a statement, 1 if its innermost loop is parallel and all accesses are SAME or
               UNIT, so that neighbouring iterations fit a vector; else 0
earliness      the mean over the dependences of 1/(1 + l), where l loops (of whatever statement)
               are outside of the dimension that carries it; 0 for one that is not carried
simplicity     1 - 0.1·c/(c + 16), with c the mean over the statements of the number of bits of
               their coefficients
=============  =================================================================================

The first three are means over the statements, a statement of depth d with weight 10^d: it runs
about n^d times, so the deepest decide, and the others still count. A statement without loops has
nothing to gain and has 1 everywhere. Earliness and simplicity are there to tell schedules apart
that are otherwise equal; the largest coefficients cost a tenth of the score.

Example, y = Ax in the original order, S: (0, i, 0), T: (1, i, j). S writes y[i], UNIT; its loop is
parallel and fits a vector: 0.8, 1, 1. T accesses y, y, A, x with SAME, SAME, UNIT, UNIT, and its
loops are i, parallel, and j, not parallel: 0.9, 1, 0. With the weights 10 and 100

    locality = (10·0.8 + 100·0.9)/110 = 0.8909    parallelism = 1    vectors = 10/110 = 0.0909.

S -> T is carried outside of all loops, T -> T inside of i: earliness is (1 + 1/2)/2 = 0.75. S takes
1 bit, T takes 3: c = 2 and simplicity is 1 - 0.2/18 = 0.9889. The score is 0.7633 · 0.9889, 0.7548.
With T's loops interchanged, (1, j, i), T has UNIT, UNIT, FAR, SAME, and then 0.65, 1/2, 0; T -> T
is carried by the outermost loop and earliness is 1. The score is 0.5146.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import islpy as isl

from polygym.ir.scop import Scop, Statement
from polygym.poly.distance import DependencePairs, all_pairs
from polygym.poly.innermost import (
    AccessStride,
    InnermostLoop,
    access_stride,
    domain_equations,
    independent_rows,
    innermost_loop,
)
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.schedule import Schedule, ScheduleRow
from polygym.poly.scheduling.baselines import original_schedule

# For every statement, what it has in common with those that it shares a loop with.
_Groups: TypeAlias = dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class ScheduledLoop:
    """A loop of a statement: the schedule's dimension, or None for one of the original order."""

    dimension: int | None
    parallel: bool


@dataclass(frozen=True, slots=True)
class StatementProperties:
    """What a schedule does to one statement.

    ``parallel`` has a flag for every dimension, whether or not it is a loop of the statement;
    ``loops`` are its loops, outermost first. ``access_strides`` says of the write and then of the
    reads how they move with the innermost loop. ``coefficient_bits`` is the number of bits that the
    statement's coefficients take, constants included: 0 takes none, 1 one, 2 and 3 two, and a minus
    sign one.
    """

    statement: str
    parallel: tuple[bool, ...]
    loops: tuple[ScheduledLoop, ...]
    innermost: InnermostLoop | None
    access_strides: tuple[AccessStride, ...]
    coefficient_bits: int


@dataclass(frozen=True, slots=True)
class ScheduleProperties:
    """What a schedule does to a program.

    ``carried`` has the dimension that carries each dependence completely, or None, in the order of
    :func:`polygym.poly.dependences.dependences`; ``statements`` are in the order of the
    text.
    """

    dimensions: int
    carried: tuple[int | None, ...]
    statements: tuple[StatementProperties, ...]

    @property
    def parallel(self) -> tuple[bool, ...]:
        """For every dimension, whether it is parallel for all statements."""
        flags = [statement.parallel for statement in self.statements]
        return tuple(map(all, zip(*flags, strict=True)))

    def of(self, statement: str) -> StatementProperties:
        """Return the properties of the statement of that name."""
        return next(
            properties for properties in self.statements if properties.statement == statement
        )


@dataclass(frozen=True, slots=True)
class _DependenceTrace:
    """One dependence's way through the dimensions.

    ``ordering_dimensions`` are the dimensions that order pairs which no earlier one does;
    ``carried`` is the last of them if no pair is left after it.
    """

    source: str
    ordering_dimensions: tuple[int, ...]
    carried: int | None


@lru_cache(maxsize=1024)
def schedule_properties(scop: Scop, schedule: Schedule) -> ScheduleProperties:
    """Return what the schedule, legal or not, does to the program."""
    source = original_schedule(scop)
    with bounded_operations("analysing the schedule"):
        walks = tuple(_trace_dependence(pairs, schedule) for pairs in all_pairs(scop))
        groups = _groups(schedule)
        return ScheduleProperties(
            schedule.dimensions,
            tuple(walk.carried for walk in walks),
            tuple(
                _statement_properties(
                    statement,
                    schedule.rows(statement.name),
                    source.rows(statement.name),
                    walks,
                    groups,
                )
                for statement in scop.statements
            ),
        )


def _trace_dependence(pairs: DependencePairs, schedule: Schedule) -> _DependenceTrace:
    """Follow what is left of a dependence from dimension to dimension."""
    dependence, left = pairs.dependence, pairs
    rows = zip(schedule.rows(dependence.source), schedule.rows(dependence.sink), strict=True)
    ordering: list[int] = []
    for dimension, (source, sink) in enumerate(rows):
        rest = left.unordered_by(left.distance(source, sink, schedule.parameters))
        if rest is left or left.points.is_subset(rest.points):
            continue
        ordering.append(dimension)
        if rest.is_empty:
            return _DependenceTrace(dependence.source, tuple(ordering), dimension)
        left = rest
    return _DependenceTrace(dependence.source, tuple(ordering), None)


def _groups(schedule: Schedule) -> tuple[_Groups, ...]:
    """Return the groups at every dimension, and a last time behind all of them.

    Two statements are in one group when they have equal keys: the constants by which their groups
    were split so far.
    """
    keys: _Groups = {part.statement: () for part in schedule.statements}
    groups = [keys]
    for dimension in range(schedule.dimensions):
        rows = {part.statement: part.rows[dimension] for part in schedule.statements}
        looping = {keys[name] for name, row in rows.items() if not row.is_constant}
        keys = {
            name: key if key in looping else (*key, rows[name].constant)
            for name, key in keys.items()
        }
        groups.append(keys)
    return tuple(groups)


def _statement_properties(
    statement: Statement,
    rows: tuple[ScheduleRow, ...],
    original_rows: tuple[ScheduleRow, ...],
    walks: tuple[_DependenceTrace, ...],
    groups: tuple[_Groups, ...],
) -> StatementProperties:
    """Put together what is known of one statement."""
    name = statement.name
    parallel = tuple(
        not any(
            dimension in walk.ordering_dimensions and keys[walk.source] == keys[name]
            for walk in walks
        )
        for dimension, keys in enumerate(groups[:-1])
    )
    last = groups[-1]
    nothing_left = not any(
        walk.carried is None and last[walk.source] == last[name] for walk in walks
    )
    vectors = [row.iterators for row in (*rows, *original_rows)]
    chosen = independent_rows(vectors, domain_equations(statement.domain))
    loop = innermost_loop(statement.domain, [vectors[position] for position in chosen])
    return StatementProperties(
        name,
        parallel,
        tuple(
            ScheduledLoop(position, parallel[position])
            if position < len(rows)
            else ScheduledLoop(None, nothing_left)
            for position in chosen
        ),
        loop,
        tuple(
            access_stride(statement, access, loop) for access in (statement.write, *statement.reads)
        ),
        sum(map(_coefficient_bits, rows)),
    )


def _coefficient_bits(row: ScheduleRow) -> int:
    """Return the number of bits of a row's coefficients.

    >>> _coefficient_bits(ScheduleRow((1, -2, 0), (3,), 0))
    6
    """
    return sum(
        abs(value).bit_length() + (value < 0)
        for value in (*row.iterators, *row.parameters, row.constant)
    )


_BASE = 0.01
_LOCALITY = 0.48
_PARALLELISM = 0.30
_VECTORS = 0.20
_EARLINESS = 0.01

_STRIDE_VALUES = {
    AccessStride.SAME: 1.0,
    AccessStride.UNIT: 0.8,
    AccessStride.SHORT: 0.3,
    AccessStride.FAR: 0.0,
}
_VECTORIZABLE_STRIDES = frozenset({AccessStride.SAME, AccessStride.UNIT})

_WEIGHT_PER_LOOP = 10.0
_LARGEST_PENALTY = 0.1
_HALF_PENALTY_BITS = 16


@dataclass(frozen=True, slots=True)
class ScoreTerms:
    """The terms of the static score, each in [0, 1]; the module's docstring defines them."""

    locality: float
    parallelism: float
    vectors: float
    earliness: float
    simplicity: float

    @property
    def score(self) -> float:
        """The score that they add up to, in (0, 1]."""
        total = (
            _BASE
            + _LOCALITY * self.locality
            + _PARALLELISM * self.parallelism
            + _VECTORS * self.vectors
            + _EARLINESS * self.earliness
        )
        return min(1.0, total * self.simplicity)  # rounding may leave a little more than 1


def static_score(scop: Scop, schedule: Schedule) -> float:
    """Return the static score of a schedule, in (0, 1]; the same number every time."""
    return static_terms(scop, schedule).score


def static_terms(scop: Scop, schedule: Schedule) -> ScoreTerms:
    """Return what the static score is made of."""
    properties = schedule_properties(scop, schedule)
    weights = [_WEIGHT_PER_LOOP**statement.depth for statement in scop.statements]

    def mean(term: Callable[[StatementProperties], float]) -> float:
        values = map(term, properties.statements)
        return sum(w * value for w, value in zip(weights, values, strict=True)) / sum(weights)

    return ScoreTerms(
        mean(_locality),
        mean(_parallelism),
        mean(_vectors),
        _earliness(properties),
        _simplicity(properties),
    )


def _locality(statement: StatementProperties) -> float:
    """Return the mean worth of the accesses; nothing moves in a statement without loops."""
    return sum(_STRIDE_VALUES[stride] for stride in statement.access_strides) / len(
        statement.access_strides
    )


def _parallelism(statement: StatementProperties) -> float:
    """Return 1/2^p for the outermost parallel loop, inside of p others."""
    if not statement.loops:
        return 1.0
    factor = 1.0
    for loop in statement.loops:
        if loop.parallel:
            return factor
        factor /= 2
    return 0.0


def _vectors(statement: StatementProperties) -> float:
    """Return 1 if neighbouring iterations of the innermost loop fit a vector, else 0."""
    if not statement.loops:
        return 1.0
    return float(
        statement.loops[-1].parallel and _VECTORIZABLE_STRIDES.issuperset(statement.access_strides)
    )


def _earliness(properties: ScheduleProperties) -> float:
    """Return the mean over the dependences of 1/(1 + loops outside of what carries it)."""
    if not properties.carried:
        return 1.0
    loops = {
        loop.dimension
        for statement_properties in properties.statements
        for loop in statement_properties.loops
        if loop.dimension is not None
    }
    total = 0.0
    for carrier in properties.carried:
        if carrier is not None:
            total += 1 / (1 + sum(dimension < carrier for dimension in loops))
    return total / len(properties.carried)


def _simplicity(properties: ScheduleProperties) -> float:
    """Return 1 without coefficients, falling towards 0.9 as they get more and larger."""
    bits = sum(
        statement_properties.coefficient_bits for statement_properties in properties.statements
    ) / len(properties.statements)
    return 1 - _LARGEST_PENALTY * bits / (bits + _HALF_PENALTY_BITS)


def has_box_domains(scop: Scop) -> bool:
    """Whether every loop has the same bounds in all iterations of the loops around it.

    A domain such as 0 <= i < n, 0 <= j < m is a box; a triangle, 0 <= j <= i, is none.
    """
    return all(isl.Set(statement.domain).is_box() for statement in scop.statements)
