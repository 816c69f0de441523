"""The first stage of optimizing a term: rewritten forms, timed in turn; the fastest is scheduled.

Rewriting and scheduling share a budget and a clock. Searches with a static cost propose terms; each
that compiles takes one of the budget, and all are run in turn by the worker that times schedules
too, at the sizes in question. Where no other is faster by more than 3 %, the term stays as it was.
What is left of the budget and of the time is for schedules of the chosen term.

Each form must compute what the term's interpreter does, at small sizes, and what the first form
does, at the sizes that are timed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polygym.errors import InputError, PolygymError
from polygym.pickling import pickle_by_name
from polygym.search.planning import PlanningLimits
from polygym.terms.code.timing import compare_timings, sizes_for
from polygym.terms.code.timing_record import compare_with_interpreter
from polygym.terms.derivation import Derivation, derive
from polygym.terms.language.program import TermProgram
from polygym.terms.optimization import optimize_term
from polygym.terms.rules.rule_table import rules_named

_RULES = "all"
_SEARCHES = (
    ("greedy", PlanningLimits(horizon=30, max_states=2000)),
    ("parts", PlanningLimits(horizon=12, max_states=600)),
    ("astar", PlanningLimits(horizon=16, max_states=600)),
)
"""The searches that propose terms, the quickest first."""

_SHARE = 0.25
"""The part of the time that rewriting may take before it begins no further search."""

_ROUNDS = 7
_GAIN = 1.03


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TermCandidate:
    """A form of a term: the search that proposed it, how it is derived, and its time."""

    search: str
    derivation: Derivation
    seconds: float | None = None
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return all but the terms on the way."""
        return {
            "search": self.search,
            "cost": self.derivation.costs[-1],
            "steps": len(self.derivation.steps),
            "seconds": self.seconds,
            "failure": self.failure,
        }


@pickle_by_name
@dataclass(frozen=True, slots=True)
class RewritingStage:
    """Forms of a term, the first as it is written, which of them is taken, and what it took."""

    sizes: tuple[tuple[str, int], ...]
    candidates: tuple[TermCandidate, ...]
    chosen: int
    validated_sizes: tuple[tuple[str, int], ...] | None
    seconds: float

    @property
    def program(self) -> TermProgram:
        """The form that is to be scheduled."""
        return self.candidates[self.chosen].derivation.result

    @property
    def speedup(self) -> float | None:
        """How many times as fast it is as what was written; None where neither was timed."""
        before, after = self.candidates[0].seconds, self.candidates[self.chosen].seconds
        return None if before is None or after is None else before / after

    def to_json(self) -> dict[str, Any]:
        """Return what was tried, and the derivation of what is taken."""
        validated = None if self.validated_sizes is None else dict(self.validated_sizes)
        return {
            "sizes": dict(self.sizes),
            "candidates": [candidate.to_json() for candidate in self.candidates],
            "chosen": self.chosen,
            "speedup": self.speedup,
            "validated_sizes": validated,
            "seconds": self.seconds,
            "derivation": self.candidates[self.chosen].derivation.to_json(),
        }


def rewrite_first(
    program: TermProgram,
    sizes: Mapping[str, int],
    budget: int,
    time_limit: float | None = None,
) -> RewritingStage:
    """Return forms of a program and the fastest of them; at most half the budget is taken.

    Raises:
        InputError: a size is none of the program's, or the program cannot be compiled.
        InternalError: a form computes something else than the interpreter.
    """
    start = time.monotonic()
    known = sizes_for(program, sizes)
    deadline = None if time_limit is None else start + _SHARE * time_limit
    proposed = [TermCandidate("source", derive(program, rules_named(_RULES), []))]
    for search, limits in _SEARCHES:
        is_late = deadline is not None and time.monotonic() > deadline
        if is_late or 2 * len(proposed) > budget:
            break
        derivation = optimize_term(program, [rules_named(_RULES)], search, limits)
        if all(derivation.result.body is not its.derivation.result.body for its in proposed):
            proposed.append(TermCandidate(search, derivation))
    at = compare_with_interpreter([its.derivation.result for its in proposed], known)
    timed = tuple(_timed(proposed, known))
    seconds = [its.seconds for its in timed]
    best = min(
        (number for number, its in enumerate(seconds) if its is not None),
        key=lambda number: seconds[number] or 0.0,
        default=0,
    )
    first, fastest = seconds[0], seconds[best]
    if first is not None and fastest is not None and first < _GAIN * fastest:
        best = 0
    return RewritingStage(
        tuple(known.items()),
        timed,
        best,
        None if at is None else tuple(at.items()),
        time.monotonic() - start,
    )


def _timed(proposed: list[TermCandidate], sizes: Mapping[str, int]) -> list[TermCandidate]:
    """Return candidates with their times; what cannot be compiled beside the others has none."""
    if len(proposed) == 1:
        return proposed
    programs = [its.derivation.result for its in proposed]
    try:
        timings = compare_timings(programs, sizes, _ROUNDS).timings
    except InputError:
        raise
    except PolygymError as error:
        return [TermCandidate(its.search, its.derivation, None, str(error)) for its in proposed]
    return [
        TermCandidate(its.search, its.derivation, min(timing.samples, default=None), timing.failure)
        for its, timing in zip(proposed, timings, strict=True)
    ]
