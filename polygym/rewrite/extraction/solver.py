"""Integer programs, and HiGHS that solves them: one thread, the same answer every time.

The solver runs in a thread of its own, so that Ctrl-C is noticed at once: it is told to stop, which
it does within a moment, and only then is the interruption passed on.
"""

import math
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

import numpy as np

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
