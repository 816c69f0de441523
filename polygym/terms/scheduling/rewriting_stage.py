"""The first stage of optimizing a term: rewritten forms, timed in turn; the fastest is scheduled.

Rewriting and scheduling share a budget and a clock. Searches with a static cost propose terms; each
that compiles takes one of the budget, and all are run in turn by the worker that times schedules
too, at the sizes in question. Where no other is faster by more than 3 %, the term stays as it was.
What is left of the budget and of the time is for schedules of the chosen term.

Equality saturation comes first, then derivations by rules. Each form must compute what the term's
interpreter does, at small sizes, and what the first form does, at the sizes that are timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from polygym.errors import InputError, PolygymError
from polygym.pickling import pickle_by_name
from polygym.search.planning import PlanningLimits
from polygym.terms.code.emitter import emit_code
from polygym.terms.code.timing import ProgramTiming, compare_timings, sizes_for
from polygym.terms.code.timing_record import compare_with_interpreter
from polygym.terms.cost import StaticCost
from polygym.terms.derivation import Derivation
from polygym.terms.language.printer import text_of_program
from polygym.terms.language.program import TermProgram
from polygym.terms.optimization import optimize_term
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.whole_programs.program_saturation import ProgramLimits, saturate_loops

_RULES = "all"
_SATURATION_SECONDS = 8.0
_LIMITS = {
    "greedy": PlanningLimits(horizon=30, max_states=2000),
    "parts": PlanningLimits(horizon=12, max_states=600),
}

_SHARE = 0.25
"""The part of the time that rewriting may take before it begins no further search."""

_ROUNDS = 7
_GAIN = 1.03


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TermCandidate:
    """A form of a term: the search that proposed it, its derivation if it has one, its time."""

    search: str
    program: TermProgram
    derivation: Derivation | None = None
    seconds: float | None = None
    failure: str = ""

    @property
    def cost(self) -> float:
        """The static cost."""
        return StaticCost()(self.program.body)

    def to_json(self) -> dict[str, Any]:
        """Return all that there is to say of it."""
        return {
            "search": self.search,
            "program": text_of_program(self.program),
            "cost": self.cost,
            "seconds": self.seconds,
            "failure": self.failure,
            "derivation": None if self.derivation is None else self.derivation.to_json(),
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
        return self.candidates[self.chosen].program

    @property
    def speedup(self) -> float | None:
        """How many times as fast it is as what was written; None where neither was timed."""
        before, after = self.candidates[0].seconds, self.candidates[self.chosen].seconds
        return None if before is None or after is None else before / after

    def to_json(self) -> dict[str, Any]:
        """Return what was tried, what is taken, and how much that took."""
        validated = None if self.validated_sizes is None else dict(self.validated_sizes)
        return {
            "sizes": dict(self.sizes),
            "candidates": [candidate.to_json() for candidate in self.candidates],
            "chosen": self.chosen,
            "speedup": self.speedup,
            "validated_sizes": validated,
            "seconds": self.seconds,
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
    share = float("inf") if time_limit is None else _SHARE * time_limit
    proposed = [TermCandidate("source", program)]
    for propose in _proposals(program, min(_SATURATION_SECONDS, share)):
        if time.monotonic() - start > share or 2 * (len(proposed) + 1) > budget:
            break
        made = propose()
        if all(made.program.body is not its.program.body for its in proposed):
            proposed.append(made)
    proposed = [_compilable(its, known) for its in proposed]
    if proposed[0].failure:
        raise InputError(proposed[0].failure)
    compiled = [its.program for its in proposed if not its.failure]
    at = compare_with_interpreter(compiled, known)
    timed = tuple(_timed(proposed, known))
    best = _fastest(timed)
    return RewritingStage(
        tuple(known.items()),
        timed,
        best,
        None if at is None else tuple(at.items()),
        time.monotonic() - start,
    )


def _proposals(program: TermProgram, seconds: float) -> Iterator[Callable[[], TermCandidate]]:
    """Yield searches that propose a form."""

    def saturate() -> TermCandidate:
        made = saturate_loops(program, rules_named(_RULES), ProgramLimits(seconds=seconds))
        return TermCandidate("egraph", program.with_body(made.term))

    def derive(search: str) -> TermCandidate:
        derivation = optimize_term(program, [rules_named(_RULES)], search, _LIMITS[search])
        return TermCandidate(search, derivation.result, derivation)

    yield saturate
    for search in _LIMITS:
        yield partial(derive, search)


def _fastest(timed: tuple[TermCandidate, ...]) -> int:
    """Return the cheapest form of those that are about as fast as the fastest."""
    seconds = [its.seconds for its in timed]
    known = [number for number in seconds if number is not None]
    if not known:
        return 0
    limit = _GAIN * min(known)
    near = [number for number, its in enumerate(seconds) if its is not None and its <= limit]
    return 0 if 0 in near else min(near, key=lambda number: timed[number].cost)


def _timed(proposed: list[TermCandidate], sizes: Mapping[str, int]) -> list[TermCandidate]:
    """Return candidates with their times; those with a failure have none."""
    if len(proposed) == 1:
        return proposed
    compiled = [its.program for its in proposed if not its.failure]
    try:
        taken = iter(compare_timings(compiled, sizes, _ROUNDS).timings)
    except PolygymError as error:
        return [replace(its, failure=its.failure or str(error)) for its in proposed]
    return [its if its.failure else _with_time(its, next(taken)) for its in proposed]


def _with_time(candidate: TermCandidate, timing: ProgramTiming) -> TermCandidate:
    return replace(candidate, seconds=min(timing.samples, default=None), failure=timing.failure)


def _compilable(candidate: TermCandidate, sizes: Mapping[str, int]) -> TermCandidate:
    """Return a candidate, with the reason if there is no code for it."""
    try:
        emit_code(candidate.program, sizes)
    except InputError as error:
        return replace(candidate, failure=str(error))
    return candidate
