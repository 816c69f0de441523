"""TASO's search: the cheapest graph known is taken out of a queue, and all its substitutes go in.

A term is put into the queue unless it was seen before or costs α times the best or more; α above 1
lets the search pass through graphs that are worse. It ends when the queue is empty, after so many
graphs taken out, or when time is up. The queue has a match with the term that it is of, not its
outcome, and what was seen is remembered as a fingerprint of 16 bytes, so that hundreds of thousands
of graphs take no more memory than their matches.

    >>> from polygym.rewrite.s_expressions import parse_term, term_text
    >>> from polygym.rewrite.domain import TrivialDomain
    >>> from polygym.rewrite.rule import parse_rules
    >>> rules = parse_rules("back: (f (g ?x)) => ?x  swap: (g (f ?x)) => (f (g ?x))")
    >>> root = parse_term("(f (g (g (f a))))")
    >>> found = backtrack(root, rules, TrivialDomain(), lambda head, children, data: 1.0)
    >>> term_text(found.term), found.initial_cost, found.cost, found.stop.value
    ('a', 5.0, 1.0, 'exhausted')
"""

import hashlib
import math
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from heapq import heappop, heappush
from typing import TypeAlias

from polygym.errors import InputError
from polygym.rewrite.domain import Data, Domain, TypeTable, type_table
from polygym.rewrite.rule import Rule
from polygym.rewrite.substitution import RuleMatch, TermIndex
from polygym.rewrite.term import Head, Term

_MAX_CACHED_COSTS = 200_000


class SearchEnd(Enum):
    """Why a search ended."""

    EXHAUSTED = "exhausted"
    """Nothing was left in the queue."""
    ITERATIONS = "iterations"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class BacktrackingProgress:
    """Where a search stands."""

    iterations: int
    best: float
    queued: int
    """How many graphs are in the queue."""
    visited: int
    """How many different graphs there were."""
    seconds: float


@dataclass(frozen=True, slots=True)
class BacktrackingResult:
    """What a search came to."""

    term: Term
    cost: float
    initial_cost: float
    seconds: float
    seconds_to_best: float
    cpu_seconds: float
    """Seconds of the processor that this process took."""
    cpu_seconds_to_best: float
    iterations: int
    """How many graphs were taken out of the queue."""
    steps: tuple[tuple[str, float], ...]
    """The substitutions that lead to the term: the rule's name and the cost afterwards."""
    visited: int
    """How many different graphs there were."""
    stop: SearchEnd


StepChain: TypeAlias = tuple[tuple[str, float], "StepChain"] | None
_QueueEntry: TypeAlias = tuple[float, int, TermIndex | None, RuleMatch | None, StepChain]
_Timestamp: TypeAlias = tuple[float, float]
"""A clock's seconds, and the processor's."""


@dataclass(frozen=True, slots=True)
class _Incumbent:
    """The cheapest term so far, the way to it, and when it was found."""

    term: Term
    cost: float
    steps: StepChain
    timestamp: _Timestamp


def backtrack(
    root: Term,
    rules: Sequence[Rule],
    domain: Domain | TypeTable,
    cost: Callable[[Head, tuple[Data, ...], Data], float],
    alpha: float = 1.05,
    iterations: int = 100,
    seconds: float = math.inf,
    progress: Callable[[BacktrackingProgress], None] | None = None,
) -> BacktrackingResult:
    """Return the cheapest term found; costs are those of the different nodes.

    Raises:
        Inadmissible: the term makes no sense.
        InputError: α is below 1.
    """
    if not alpha >= 1:
        raise InputError(f"alpha: expected 1 or more, found {alpha}")
    begin = _timestamp()
    deadline = begin[0] + seconds
    types = type_table(domain)
    types.of(root)
    value = Valuation(types, cost)
    initial = value.of(root)
    best = _Incumbent(root, initial, None, begin)
    seen = {value.fingerprint}
    queue: list[_QueueEntry] = [(initial, 0, None, None, None)]
    taken = 0
    stop = SearchEnd.EXHAUSTED
    while queue and stop is SearchEnd.EXHAUSTED:
        if taken == iterations:
            stop = SearchEnd.ITERATIONS
            break
        _, _, before, match, steps = heappop(queue)
        taken += 1
        places = TermIndex(_entry_term(root, before, match), types)
        for match in places.matches(rules):
            if time.perf_counter() >= deadline:
                stop = SearchEnd.TIME
                break
            other = places.apply(match)
            if other is None:
                continue
            price = value.of(other, alpha * best.cost)
            if price >= alpha * best.cost or value.fingerprint in seen:
                continue
            seen.add(value.fingerprint)
            after: StepChain = ((match.rule.name, price), steps)
            heappush(queue, (price, len(seen), places, match, after))  # of equal ones the first
            if price < best.cost:
                best = _Incumbent(other, price, after, _timestamp())
        if progress is not None:
            passed = time.perf_counter() - begin[0]
            progress(BacktrackingProgress(taken, best.cost, len(queue), len(seen), passed))
    end = _timestamp()
    return BacktrackingResult(
        best.term,
        best.cost,
        initial,
        end[0] - begin[0],
        best.timestamp[0] - begin[0],
        end[1] - begin[1],
        best.timestamp[1] - begin[1],
        taken,
        _step_list(best.steps),
        len(seen),
        stop,
    )


def _timestamp() -> _Timestamp:
    return time.perf_counter(), time.process_time()


def _entry_term(root: Term, before: TermIndex | None, match: RuleMatch | None) -> Term:
    """Return the term of an entry of the queue, of which there is only how it is made."""
    if before is None or match is None:
        return root
    made = before.apply(match)
    assert made is not None, "a substitution is possible at one time and not at another"
    return made


class Valuation:
    """The cost of terms and a fingerprint of each, in one walk over its nodes."""

    def __init__(
        self, types: TypeTable, cost: Callable[[Head, tuple[Data, ...], Data], float]
    ) -> None:
        """Know no cost yet."""
        self._types, self._cost = types, cost
        self._known: dict[Term, tuple[float, int]] = {}
        self._costs: dict[tuple[int, ...], float] = {}
        self.fingerprint = b""
        """That of the last term whose cost was asked for, if it was below the limit."""

    def of(self, root: Term, limit: float = math.inf) -> float:
        """Return what the different nodes of a term cost."""
        known = self._known
        if len(known) > _MAX_CACHED_COSTS:
            known.clear()
        places: dict[Term, int] = {root: 0}
        terms = [root]
        costs: list[float] = []
        form: list[int] = []
        for term in terms:  # which grows meanwhile: from the root on, level by level
            entry = known.get(term)
            if entry is None:
                entry = known[term] = self._ask(term)
            costs.append(entry[0])
            form.append(entry[1])
            for child in term.children:
                place = places.get(child)
                if place is None:
                    place = places[child] = len(terms)
                    terms.append(child)
                form.append(place)
        total = math.fsum(costs)
        if total < limit:
            digest = hashlib.blake2b(array("q", form).tobytes(), digest_size=16)
            self.fingerprint = digest.digest()
        return total

    def _ask(self, node: Term) -> tuple[float, int]:
        types = self._types
        operator = types.operator(node.head, len(node.children))
        key = (types.number_of(node), operator, *map(types.number_of, node.children))
        cost = self._costs.get(key)
        if cost is None:
            values = types.values
            children = tuple(values[number] for number in key[2:])
            cost = self._costs[key] = float(self._cost(node.head, children, values[key[0]]))
        return cost, operator


def _step_list(last: StepChain) -> tuple[tuple[str, float], ...]:
    names: list[tuple[str, float]] = []
    while last is not None:
        names.append(last[0])
        last = last[1]
    return tuple(reversed(names))
