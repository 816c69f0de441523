"""Extraction as an integer program.

A variable x for each node and y for each class: a class is chosen as often as its nodes are,
y = Σ x; the nodes of a class that need another are chosen no more than that one is, Σ x ≤ y; and
the root is chosen, y = 1. Of a class at most one node can be chosen then, so that one row for each
pair of classes says what one for each node and child would say more weakly.

A choice may have a cycle where classes need each other. ``REAL`` and ``INTEGER`` give each such
class a place in an order, which decreases from a chosen node's class to those that it needs; places
are fractions or whole numbers. ``LAZY`` forbids what is seen at once, two classes that need each
other, and every other cycle when an answer has it. ``NONE`` trusts that there are none.

Integer programs, and HiGHS that solves them: one thread, the same answer every time.

The solver runs in a thread of its own, so that Ctrl-C is noticed at once: it is told to stop, which
it does within a moment, and only then is the interruption passed on.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from threading import Event, Thread
from typing import Any

import numpy as np

from polygym.rewrite.extraction.choices import ExtractionChoices, strong_components


class CycleConstraints(Enum):
    """How an answer is kept free of cycles."""

    NONE = "none"
    REAL = "real"
    INTEGER = "integer"
    LAZY = "lazy"


class ExtractionProgram:
    """The integer program of a choice, and what its columns mean."""

    def __init__(self, choices: ExtractionChoices, cycles: CycleConstraints, scale: float) -> None:
        """Write down the program; costs are multiplied by a scale."""
        self.choices = choices
        self.program = program = IntegerProgram()
        for cost in choices.costs:
            program.add_column(cost * scale, 1.0, True)
        self._classes = [program.add_column(0.0, 1.0, False) for _ in choices.members]
        self._needing: dict[tuple[int, int], list[int]] = {}
        for name, nodes in enumerate(choices.members):
            terms = [(node, 1.0) for node in nodes]
            program.add_row([*terms, (self._classes[name], -1.0)], 0.0, 0.0)
            for node in nodes:
                for child in choices.children[node]:
                    self._needing.setdefault((name, child), []).append(node)
        for (_, child), needing in self._needing.items():
            terms = [(node, 1.0) for node in needing]
            program.add_row([*terms, (self._classes[child], -1.0)], -math.inf, 0.0)
        program.add_row([(self._classes[0], 1.0)], 1.0, 1.0)
        self._orders: dict[int, tuple[int, float]] = {}
        self._tied, self._sizes = self._pairs_within_components()
        if cycles is CycleConstraints.LAZY:
            for pair in self._tied:
                if pair[0] < pair[1] and (pair[1], pair[0]) in self._needing:
                    self.forbid(list(pair))
        elif cycles is not CycleConstraints.NONE:
            self._add_order(cycles is CycleConstraints.INTEGER)

    @property
    def has_cycles(self) -> bool:
        """Whether some choice has a cycle."""
        return bool(self._tied)

    def forbid(self, cycle: list[int]) -> None:
        """Forbid that each class of a list is chosen by a node that needs the next."""
        terms = [
            (node, 1.0)
            for place, name in enumerate(cycle)
            for node in self._needing[name, cycle[(place + 1) % len(cycle)]]
        ]
        self.program.add_row(terms, -math.inf, len(cycle) - 1.0)

    def require(self, nodes: Sequence[int]) -> None:
        """Require that one of some nodes is chosen."""
        self.program.add_row([(node, 1.0) for node in nodes], 1.0, math.inf)

    def start(self, chosen: dict[int, int]) -> list[float]:
        """Return the columns of a choice without cycles, a node for each class that is chosen."""
        values = [0.0] * len(self.program.costs)
        done: dict[int, None] = {}
        stack = [0]
        while stack:
            name = stack[-1]
            missing = [child for child in self.choices.children[chosen[name]] if child not in done]
            if missing:
                stack += missing
                continue
            done[stack.pop()] = None
            values[chosen[name]] = values[self._classes[name]] = 1.0
        for name in done:  # children come first
            if name in self._orders:
                column, unit = self._orders[name]
                below = [
                    values[self._orders[child][0]] + unit
                    for child in self.choices.children[chosen[name]]
                    if (name, child) in self._tied
                ]
                values[column] = max(below, default=0.0)
        return values

    def chosen(self, values: list[float]) -> dict[int, int] | None:
        """Return the node for each class that the root needs, None if the columns have none."""
        result: dict[int, int] = {}
        stack = [0]
        while stack:
            name = stack.pop()
            if name in result:
                continue
            node = max(self.choices.members[name], key=lambda member: values[member])
            if values[node] < 0.5:
                return None
            result[name] = node
            stack.extend(self.choices.children[node])
        return result

    def cycles_of(self, chosen: dict[int, int]) -> list[list[int]]:
        """Return cycles of a choice, at least one if it has any."""
        colours: dict[int, int] = {}
        result: list[list[int]] = []
        path = [0]
        steps = [iter(self.choices.children[chosen[0]])]
        colours[0] = 1
        while path:
            child = next(steps[-1], None)
            if child is None:
                colours[path.pop()] = 2
                steps.pop()
            elif child not in colours:
                colours[child] = 1
                path.append(child)
                steps.append(iter(self.choices.children[chosen[child]]))
            elif colours[child] == 1:
                result.append(path[path.index(child) :])
        return result

    def _pairs_within_components(self) -> tuple[dict[tuple[int, int], None], dict[int, int]]:
        """Return the pairs between which a cycle can be, and of their classes how many are tied."""
        edges: list[list[int]] = [[] for _ in self.choices.members]
        for name, child in self._needing:
            edges[name].append(child)
        component = strong_components(edges)
        pairs = [pair for pair in self._needing if component[pair[0]] == component[pair[1]]]
        sizes = Counter(component)
        return dict.fromkeys(pairs), {name: sizes[component[name]] for name, _ in pairs}

    def _add_order(self, is_integer: bool) -> None:
        program = self.program
        for name, size in self._sizes.items():
            upper, unit = (size - 1.0, 1.0) if is_integer else (1.0, 1.0 / size)
            self._orders[name] = (program.add_column(0.0, upper, is_integer), unit)
        for name, child in self._tied:
            (above, unit), (below, _) = self._orders[name], self._orders[child]
            most = (
                program.uppers[above] + unit
            )  # as much as the row must yield where none is chosen
            terms = [(node, -most) for node in self._needing[name, child]]
            program.add_row([(above, 1.0), (below, -1.0), *terms], unit - most, math.inf)


_WITHOUT_AGGREGATOR = 1 << 12
"""HiGHS's bit for the rule of its presolve that is left out.

With it HiGHS 1.15.1 calls 13 the optimum of a choice that can be had for 9.5 (one of 2,500 small
ones with places in an order, against all answers); without it none of them is wrong.
"""


_SOLVER_TOLERANCE = 2e-5
"""For how many seconds a coefficient HiGHS may go on without looking at its clock.

Presolving 190,000 of them, and single steps of its search, took 1.7 to 2.6 seconds of the processor
in which nothing could end it; so that much earlier it is asked to end.
"""


@dataclass(slots=True)
class IntegerProgram:
    """Columns with costs, from 0 to a bound each; rows ``lower ≤ a·x ≤ upper``. To be minimised."""

    costs: list[float] = field(default_factory=list)
    uppers: list[float] = field(default_factory=list)
    integers: list[bool] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    columns: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    row_lowers: list[float] = field(default_factory=list)
    row_uppers: list[float] = field(default_factory=list)

    def add_column(self, cost: float, upper: float, is_integer: bool) -> int:
        """Add a column and return its place."""
        self.costs.append(cost)
        self.uppers.append(upper)
        self.integers.append(is_integer)
        return len(self.costs) - 1

    def add_row(self, terms: list[tuple[int, float]], lower: float, upper: float) -> None:
        """Add a row of columns and their coefficients."""
        for place, value in terms:
            self.columns.append(place)
            self.values.append(value)
        self.starts.append(len(self.columns))
        self.row_lowers.append(lower)
        self.row_uppers.append(upper)


@dataclass(frozen=True, slots=True)
class SolverResult:
    """What the solver found."""

    values: list[float] | None
    """The columns; None if it found nothing."""
    lower_bound: float
    """What every answer costs at least."""
    is_optimal: bool


def solve_program(
    program: IntegerProgram,
    seconds: float,
    start: list[float] | None = None,
    *,
    relaxed: bool = False,
) -> SolverResult:
    """Solve a program, from an answer that is known, in a limited time.

    In fractions, every column may have any value: what is best then is a bound, found far sooner.
    """
    import highspy

    if seconds <= 0:
        return SolverResult(None, -math.inf, False)
    solver = highspy.Highs()
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("parallel", "off"),
        ("random_seed", 0),
        ("mip_rel_gap", 0.0),
        ("presolve_rule_off", _WITHOUT_AGGREGATOR),
        ("time_limit", max(seconds - _SOLVER_TOLERANCE * len(program.values), seconds / 2)),
    ):
        solver.setOptionValue(option, value)
    solver.passModel(_highs_model(program, relaxed))
    if start is not None:
        known = highspy.HighsSolution()
        known.col_value = start
        solver.setSolution(known)
    _run_interruptibly(solver)
    info = solver.getInfo()
    is_optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    is_found = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    values = list(solver.getSolution().col_value) if is_found else None
    if relaxed:
        bound = info.objective_function_value if is_optimal else -math.inf
    else:
        bound = info.mip_dual_bound if math.isfinite(info.mip_dual_bound) else -math.inf
    return SolverResult(values, bound, is_optimal and is_found)


def _run_interruptibly(solver: Any) -> None:
    solver.HandleUserInterrupt = True
    is_done = Event()

    def run() -> None:
        try:
            solver.run()
        finally:
            is_done.set()

    thread = Thread(target=run, name="solver", daemon=True)
    thread.start()
    try:
        while not is_done.wait(0.1):  # a thread that is joined and interrupted counts as ended
            pass
    except BaseException:
        solver.cancelSolve()
        is_done.wait()
        raise
    finally:
        if is_done.is_set():
            thread.join()


def _highs_model(program: IntegerProgram, in_fractions: bool) -> Any:
    import highspy

    model = highspy.HighsLp()
    model.num_col_ = len(program.costs)
    model.num_row_ = len(program.row_lowers)
    model.col_cost_ = np.array(program.costs, dtype=np.float64)
    model.col_lower_ = np.zeros(len(program.costs))
    model.col_upper_ = np.array(program.uppers, dtype=np.float64)
    if not in_fractions:
        model.integrality_ = [
            highspy.HighsVarType.kInteger if is_integer else highspy.HighsVarType.kContinuous
            for is_integer in program.integers
        ]
    model.row_lower_ = np.array(program.row_lowers, dtype=np.float64)
    model.row_upper_ = np.array(program.row_uppers, dtype=np.float64)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.array(program.starts, dtype=np.int32)
    model.a_matrix_.index_ = np.array(program.columns, dtype=np.int32)
    model.a_matrix_.value_ = np.array(program.values, dtype=np.float64)
    return model
