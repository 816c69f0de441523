"""The cheapest choice of one part: bounds from landmarks, then fractions, then the integer program.

Greedy's choice, improved by local search, is where it begins. Landmarks give a bound, which is
often reached already. If not, the program is solved with fractions and the landmarks that those
overlook are added, until there is none, or the bound is what the best choice costs; fractions are
rounded on the way. What is left is for the integer program. What it says is a hint: its choice is
followed from the root, its cost is summed anew, and a choice with a cycle is no answer; then the
cycle is forbidden and the solver asked again, while there is time (unless cycles were said not to
be looked after).

Landmarks: sets of nodes of which every answer has one.

An integer program solved with fractions may pay for half of a class and use it twice. Let the root
be {0:[a], 0:[b]}, b = {0:[a], 10:[]} and a = {10:[]}. Half of the root through a, half through b,
and b through the same half of a: 5, where every answer costs 10. What it overlooks is a landmark:
without the node of a and the node of b that needs nothing there is no root at all, so one of the
two is chosen, and x + x′ ≥ 1 makes the fractions cost 10 as well.

A landmark is found by letting nodes in, one after the other, but for those that would let the root
be made of what is let in (:meth:`ReachableClasses.minimal_cut`): those stay out, and they are a
landmark, since without them there is no root; with any single one of them let in too there would
be. Whatever the order, what comes out is one. Since making is step by step, from what needs nothing
up, this is as true where classes need each other in circles: an answer has no cycle.

:func:`find_landmarks` finds them one by one from the costs, as planners do (LM-cut; Helmert and
Domshlak, 2009): the nodes at the border of those classes from which the root is had for nothing are
a landmark. Each of its nodes then counts its cheapest less, so that another one comes next, until
the root is had for nothing. What was taken off adds up to a bound: a node's cost is taken off by
all its landmarks together at most once, and an answer pays for one node of each.

:func:`violated_landmarks` finds those that an answer in fractions does not obey.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from polygym.rewrite.extraction.choices import (
    ClassUses,
    CostAggregation,
    DerivedCosts,
    ExtractionChoices,
    derive_costs,
)
from polygym.rewrite.extraction.extraction_program import (
    CycleConstraints,
    ExtractionProgram,
    solve_program,
)
from polygym.rewrite.extraction.local_search import improve_choice

COST_TOLERANCE = 1e-9
"""What difference between costs is none, relative to them."""
_COST_SCALE = 1000.0
"""What the first choice costs for the solver, whose tolerances are absolute."""
_TIME_SHARE = 0.25
"""How much of the time goes into landmarks, and into a better start, at most."""
_RELAXATION_SHARE = 0.5
"""How much of what is left goes into fractions, so that there is some for whole numbers."""
_MAX_ROUNDS = 30
"""How often landmarks are looked for that fractions overlook, at most."""


@dataclass(frozen=True, slots=True)
class PartResult:
    """The best choice found: a node for each class."""

    chosen: dict[int, int]
    lower_bound: float
    """What every choice costs at least."""
    is_optimal: bool
    cuts: int
    """How many cycles were forbidden because an answer had them."""


def search_part(
    choices: ExtractionChoices, cycles: CycleConstraints, deadline: float
) -> PartResult:
    """Return the cheapest choice, or the best that is found in time."""
    return _PartSearch(choices, cycles, deadline).run()


class _PartSearch:
    """The best choice so far, and what is known of all others."""

    def __init__(
        self, choices: ExtractionChoices, cycles: CycleConstraints, deadline: float
    ) -> None:
        self._choices, self._cycles, self._deadline = choices, cycles, deadline
        self._making = ReachableClasses(choices)
        first = derive_costs(self._making.needing, choices.costs, CostAggregation.SUM).nodes
        self._best = {name: node for name, node in enumerate(first) if node >= 0}
        self._least = choices.cost(self._best)
        self._improved = math.inf
        self._bound = 0.0
        self._cuts = 0

    def run(self) -> PartResult:
        """Go on until the best is proved to be the best, or time is over."""
        self._improve()
        self._bound, landmarks = find_landmarks(self._making.needing, self._part_of_time())
        if self._is_proved() or time.perf_counter() >= self._deadline:
            return self._result(self._is_proved())
        scale = _COST_SCALE / self._least
        model = ExtractionProgram(self._choices, self._cycles, scale)
        for landmark in landmarks:
            model.require(landmark)
        self._solve_in_fractions(model, scale)
        if self._is_proved():
            return self._result(True)
        self._improve()
        return self._result(self._is_proved() or self._solve(model, scale))

    def _improve(self) -> None:
        """Search locally, unless that was done from the same choice."""
        if self._least < self._improved:
            self._accept(improve_choice(self._choices, self._best, self._part_of_time()))
            self._improved = self._least

    def _part_of_time(self, share: float = _TIME_SHARE) -> float:
        now = time.perf_counter()
        return now + (self._deadline - now) * share

    def _is_proved(self) -> bool:
        return self._least * (1 - COST_TOLERANCE) <= self._bound

    def _result(self, is_optimal: bool) -> PartResult:
        bound = self._least if is_optimal else min(self._bound, self._least)
        return PartResult(self._best, bound, is_optimal, self._cuts)

    def _accept(self, chosen: dict[int, int]) -> None:
        """Keep a choice without cycles if it is cheaper; what it does not reach stays as it was."""
        cost = self._choices.cost(chosen)
        if cost < self._least * (1 - COST_TOLERANCE):
            self._best, self._least = {**self._best, **chosen}, cost

    def _solve_in_fractions(self, model: ExtractionProgram, scale: float) -> None:
        """Raise the bound by landmarks that fractions overlook."""
        deadline = self._part_of_time(_RELAXATION_SHARE)
        for _ in range(_MAX_ROUNDS):
            left = deadline - time.perf_counter()
            answer = solve_program(model.program, left, relaxed=True)
            self._bound = max(self._bound, answer.lower_bound / scale)
            if answer.values is None or not answer.is_optimal:
                return
            chosen = model.chosen(answer.values)
            if chosen is not None and not (model.has_cycles and model.cycles_of(chosen)):
                self._accept(chosen)
            if self._is_proved():
                return
            values = answer.values[: len(self._choices.costs)]
            marks = violated_landmarks(self._making, values, deadline)
            for mark in marks:
                model.require(mark)
            if not marks:
                return

    def _solve(self, model: ExtractionProgram, scale: float) -> bool:
        """Ask for whole numbers; return whether the best is proved to be."""
        while True:
            start = model.start(self._best)
            answer = solve_program(model.program, self._deadline - time.perf_counter(), start)
            self._bound = max(self._bound, answer.lower_bound / scale)
            chosen = None if answer.values is None else model.chosen(answer.values)
            if chosen is None:
                return self._is_proved()
            loops = model.cycles_of(chosen) if model.has_cycles else []
            if not loops:
                self._accept(chosen)
                return answer.is_optimal or self._is_proved()
            if self._cycles is CycleConstraints.NONE:
                return self._is_proved()
            for loop in loops:
                model.forbid(loop)
            self._cuts += len(loops)


Landmark = tuple[int, ...]

_ZERO = 1e-9
"""What share of a cost counts as nothing."""
_MIN_FRACTION = 1e-6
"""How far from 0 and 1 a fraction is."""
_VIOLATION = 1e-3
"""By how much an answer must miss a landmark."""
_SEEDS = 64
"""How many landmarks are looked for at once, at most; fewer where there are many nodes."""
_MAX_AT_ONCE = 300_000
"""How many nodes are looked at for them, at most."""
_MAX_STEPS = 5_000_000
"""How many nodes are looked at for the landmarks of costs, at most; fractions tell of others."""


class ReachableClasses:
    """What can be made of which nodes."""

    def __init__(self, choices: ExtractionChoices) -> None:
        """Know who needs whom."""
        self.needing = ClassUses(choices)
        self._counts = [len(needs) for needs in choices.children]

    def minimal_cut(self, order: Sequence[int], deadline: float = math.inf) -> Landmark:
        """Return the nodes that would let the root be made when let in in this order.

        None of them if that takes longer than until a time of :func:`time.perf_counter`: a node
        that is let in may make thousands of classes that are taken back again.
        """
        owners, users = self.needing.owners, self.needing.users
        missing = self._counts[:]
        is_in, is_made = bytearray(len(owners)), bytearray(len(users))
        out: list[int] = []
        for node in order:
            is_in[node] = 1
            if missing[node] or is_made[owners[node]]:
                continue
            if time.perf_counter() >= deadline:
                return ()
            made = [owners[node]]
            is_made[made[0]] = 1
            place = 0
            while not is_made[0] and place < len(made):
                for user in users[made[place]]:
                    missing[user] -= 1
                    name = owners[user]
                    if not missing[user] and is_in[user] and not is_made[name]:
                        is_made[name] = 1
                        made.append(name)
                place += 1
            if is_made[0]:
                for name in made[:place]:
                    for user in users[name]:
                        missing[user] += 1
                for name in made:
                    is_made[name] = 0
                is_in[node] = 0
                out.append(node)
        return tuple(sorted(out))


def find_landmarks(needing: ClassUses, deadline: float) -> tuple[float, list[Landmark]]:
    """Return a bound of what the root costs, and the landmarks that it was found by."""
    left = list(needing.choices.costs)
    total, result = 0.0, []
    whole = None
    for _ in range(1 + _MAX_STEPS // (1 + len(left))):
        if time.perf_counter() >= deadline:
            break
        seen = derive_costs(needing, left, CostAggregation.DEAREST)
        whole = seen.values[0] if whole is None else whole
        if seen.values[0] <= whole * _ZERO:
            break
        border = _zero_cost_border(needing, seen, left)
        least = min(left[node] for node in border)
        for node in border:
            left[node] -= least
        total += least
        result.append(tuple(sorted(border)))
    return total, result


def _zero_cost_border(needing: ClassUses, seen: DerivedCosts, costs: Sequence[float]) -> list[int]:
    """Return the nodes at the border of the classes from which the root is had for nothing.

    Each node is looked at as a step from the dearest class that it needs to its own. Some node of
    an answer steps over the border: else the root would stand on nothing.
    """
    members, owners, last = needing.choices.members, needing.owners, seen.last
    zone = {0}
    stack = [0]
    while stack:
        for node in members[stack.pop()]:
            if costs[node] <= 0.0 and last[node] >= 0 and last[node] not in zone:
                zone.add(last[node])
                stack.append(last[node])
    steps: dict[int, list[int]] = {}
    for node, needs in enumerate(needing.choices.children):
        if last[node] >= 0 or not needs:
            steps.setdefault(last[node], []).append(node)
    border: list[int] = []
    before = {-1}
    stack = [-1]
    while stack:
        for node in steps.get(stack.pop(), ()):
            name = owners[node]
            if name in zone:
                border.append(node)
            elif name not in before:
                before.add(name)
                stack.append(name)
    return border


def violated_landmarks(
    reachable: ReachableClasses, values: Sequence[float], deadline: float = math.inf
) -> list[Landmark]:
    """Return landmarks of which an answer in fractions has less than one.

    For each fraction, the nodes that the answer has come first, that one comes behind them, and
    those that it does not have last. When time is up there are those that were found until then.
    """
    costs = reachable.needing.choices.costs
    order = sorted(range(len(costs)), key=lambda node: (-round(values[node], 6), costs[node], node))
    had = [node for node in order if values[node] > _MIN_FRACTION]
    rest = order[len(had) :]
    seeds = [node for node in had if values[node] < 1 - _MIN_FRACTION and costs[node] > 0]
    seeds.sort(key=lambda node: -costs[node] * values[node])
    result: dict[Landmark, None] = {}
    for seed in seeds[: min(_SEEDS, 1 + _MAX_AT_ONCE // (1 + len(costs)))]:
        mark = reachable.minimal_cut(
            [*(node for node in had if node != seed), seed, *rest], deadline
        )
        if not mark:
            break
        if sum(values[node] for node in mark) < 1 - _VIOLATION:
            result[mark] = None
    return list(result)
