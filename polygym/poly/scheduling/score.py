"""The static score of a schedule, from its properties alone.

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

from polygym.ir.scop import Scop
from polygym.poly.innermost import AccessStride
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.properties import (
    ScheduleProperties,
    StatementProperties,
    schedule_properties,
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
