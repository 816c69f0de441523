"""Selection of cuts with which isl's scheduler finds more parallel or wider bands.

One suggestion after the other is added to what is cut already, the one with the greatest merit
first, for as long as the merit grows; then each cut is left out again without which the merit is
the same. For Floyd and Warshall's algorithm::

    whole                  (2, 0, -3)
    S0: i = k              (2, 1, -1)    the best of the suggestions
    S0: i = k, j = k       (2, 2, -1)    with another; nothing is better

What a cut costs (more code, loops with fewer iterations) is not in the merit: a schedule of the
program in pieces is measured like any other.

Each merit takes isl's scheduler once. A *quick* look asks it less often, for a default that most
programs should not wait for: only where isl's schedule leaves some statement with the most loops
none that is parallel, only about hyperplanes, and what gains nothing alone is not tried with
others. For Floyd and Warshall's algorithm it finds the same with 6 questions instead of 28.
"""

from dataclasses import dataclass, field
from functools import lru_cache

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.poly.isl_budget import attempt_bounded, bounded_operations
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import DEEPEST_NEST
from polygym.poly.scheduling.properties import schedule_properties
from polygym.poly.scheduling.symbolic_sizes import SymbolicProgram, with_symbolic_sizes
from polygym.poly.transform.splitting.conditions import (
    NO_SPLITTING,
    SplitCondition,
    Splitting,
    split_condition,
)
from polygym.poly.transform.splitting.merit import SplittingMerit, is_best_possible, splitting_merit
from polygym.poly.transform.splitting.suggestions import candidate_splittings, hyperplane_splittings

_MOST_ROUNDS = 4
_MOST_OPERATIONS = 400_000
"""For one program in pieces; Floyd and Warshall's algorithm in nine pieces needs fewer."""


@lru_cache(maxsize=64)
def select_splitting(scop: Scop) -> Splitting:
    """Return the cuts that are worth it, none where none are.

    Raises:
        LimitError: the dependences alone take too long.
    """
    return _select(scop, quick=False)


@lru_cache(maxsize=64)
def select_splitting_quickly(scop: Scop, isl_schedule: Schedule) -> Splitting:
    """Return the cuts that a quick look finds, where isl's usual schedule leaves something to gain.

    Raises:
        LimitError: the dependences alone take too long.
    """
    return _select(scop, quick=True) if _is_serial(scop, isl_schedule) else NO_SPLITTING


def _is_serial(scop: Scop, schedule: Schedule) -> bool:
    """Whether some statement with the most loops has none that is parallel."""
    return any(
        not any(loop.parallel for loop in properties.loops)
        for properties in schedule_properties(scop, schedule).statements
        if scop.statement(properties.statement).depth == scop.depth > 0
    )


def _select(scop: Scop, *, quick: bool) -> Splitting:
    if scop.depth > DEEPEST_NEST:
        return NO_SPLITTING
    with bounded_operations("looking for cuts"):
        symbolic = with_symbolic_sizes(scop)
        merits = _MeritCache(scop if symbolic is None else symbolic.scop)
        splitting = _prune(merits, _grow(merits, quick=quick))
        return splitting if symbolic is None else _with_constant_sizes(splitting, symbolic)


@dataclass(slots=True)
class _MeritCache:
    """What isl's scheduler makes of a program in pieces; each is asked for once."""

    scop: Scop
    _cache: dict[Splitting, SplittingMerit | None] = field(default_factory=dict)

    def merit_of(self, splitting: Splitting) -> SplittingMerit | None:
        """Return the merit, None where isl finds no schedule, not soon, or with too many pieces.

        The bound is on each program in pieces; when it is passed the others are still tried.
        """
        if splitting not in self._cache:
            self._cache[splitting] = self._compute(splitting)
        return self._cache[splitting]

    def _compute(self, splitting: Splitting) -> SplittingMerit | None:
        try:
            with (
                attempt_bounded(_MOST_OPERATIONS),
                bounded_operations("scheduling a program in pieces"),
            ):
                return splitting_merit(self.scop, splitting)
        except (InputError, LimitError):
            return None


def _grow(merits: _MeritCache, *, quick: bool) -> Splitting:
    """Return the cuts of one suggestion after the other."""
    splitting, best = NO_SPLITTING, merits.merit_of(NO_SPLITTING)
    suggestions: tuple[Splitting, ...] | None = None
    for _ in range(_MOST_ROUNDS):
        if best is None or is_best_possible(best, merits.scop.depth):
            break
        if suggestions is None:
            suggestions = (hyperplane_splittings if quick else candidate_splittings)(merits.scop)
        longer = {suggestion: _union(splitting, suggestion) for suggestion in suggestions}
        values = {
            suggestion: value
            for suggestion, both in longer.items()
            if (value := merits.merit_of(both))
        }
        gaining = [suggestion for suggestion, value in values.items() if value > best]
        if not gaining:
            break
        greatest = max(gaining, key=lambda suggestion: values[suggestion])  # the first of equals
        best, splitting = values[greatest], longer[greatest]
        if quick:
            suggestions = tuple(suggestion for suggestion in gaining if suggestion != greatest)
    return splitting


def _prune(merits: _MeritCache, splitting: Splitting) -> Splitting:
    """Return the splitting without cuts that add nothing to its merit."""
    best = merits.merit_of(splitting)
    for name, cuts in splitting.statements:
        for condition in cuts:
            fewer = _without(splitting, name, condition)
            value = merits.merit_of(fewer)
            if value is not None and best is not None and value >= best:
                splitting = fewer
    return splitting


def _union(first: Splitting, second: Splitting) -> Splitting:
    """Return the cuts of both, as many as a statement may have."""
    for name, cuts in second.statements:
        first = first.with_first_conditions(name, cuts)
    return first


def _without(splitting: Splitting, statement: str, left_out: SplitCondition) -> Splitting:
    """Return a splitting without a cut of a statement."""
    cuts = {
        name: tuple(condition for condition in cuts if (name, condition) != (statement, left_out))
        for name, cuts in splitting.statements
    }
    return Splitting(tuple((name, left) for name, left in cuts.items() if left))


def _with_constant_sizes(splitting: Splitting, symbolic: SymbolicProgram) -> Splitting:
    """Return the splitting of a program with numbers, for which sizes were parameters."""
    values = {size.name: size.value for size in symbolic.sizes}
    result = NO_SPLITTING
    for name, cuts in splitting.statements:
        for condition in cuts:
            terms = dict(condition.terms)
            number = sum(terms.pop(size, 0) * value for size, value in values.items())
            result = result.with_conditions(
                name, [split_condition(terms, condition.constant + number, condition.relation)]
            )
    return result
