"""Costs that are measured: the times of what a graph runs on this machine.

A model runs the steps of a plan, kernels and copies. :class:`PlanCosts` adds up the times of the
steps of a whole graph, so that functions of elements cost what they add to the kernel that computes
them. :class:`MeasuredCosts` are those of single operators, each a graph of one node; a search that
follows costs node by node needs them.

An e-graph has hundreds of different operators and a choice among them asks for few. So nothing is
measured that need not be: a step that has no time yet has an *estimate that is too good*, its
roofline on a machine faster than any, or the time of its head alone where that is known. What is
chosen under estimates is measured, and chosen again, until all that is chosen has been measured
(:mod:`polygym.graphs.extraction` does so).

Why that finds what measuring everything would have found: let c be the measured costs, e ≤ c the
ones that are used, equal to c on what was measured. A graph g that is best under e and measured as
a whole has c(g) = e(g) ≤ e(h) ≤ c(h) for every other graph h.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import fsum, inf
from typing import TYPE_CHECKING, Any, Self

from polygym.errors import PolygymError
from polygym.graphs.costs import NodeWork, TypedNode, is_executed, node_work, operator_key
from polygym.graphs.ir.graph import Graph
from polygym.graphs.operators.registry import operator_named
from polygym.graphs.operators.types import Data, TensorType
from polygym.rewrite.term import Head
from polygym.tc.measured_times import MeasuredTimes, user_measured_times

if TYPE_CHECKING:
    from polygym.graphs.execution.planning.kernel_variants import KernelVariants
    from polygym.graphs.execution.timing.plan_timing import PlannedStep

_OPERATIONS, _BYTES = 250_000.0, 200_000.0
"""Operations and bytes a microsecond of a core that none is faster than, caches included."""

_LAUNCH = 1.0
"""Microseconds of every step beside its work: a model calls steps one after the other."""


def _least_time(work: NodeWork, threads: int) -> float:
    """Return microseconds that no machine takes less than."""
    return max(work.operations / _OPERATIONS, work.bytes / _BYTES) / threads


@dataclass
class StepTimes:
    """Microseconds of steps under so many threads, from a store or measured now.

    The store is that of tuned kernels: one that was tuned has the time of its fastest form.
    """

    threads: int = 1
    store: MeasuredTimes = field(default_factory=lambda: MeasuredTimes(None, 1))
    measured_count: int = 0
    measuring_seconds: float = 0.0

    @staticmethod
    def of_user(threads: int = 1) -> StepTimes:
        """Return the times that are kept in the user's cache folder."""
        return StepTimes(threads, user_measured_times("kernels.sqlite", threads))

    @property
    def forms(self) -> KernelVariants:
        """The forms of kernels by these times."""
        from polygym.graphs.execution.planning.kernel_variants import KernelVariants

        return KernelVariants(self.store)

    def cost(self, steps: Iterable[PlannedStep]) -> float:
        """Return what steps take one after the other, or less where some have no time yet."""
        return fsum(_LAUNCH + self._microseconds(step) for step in steps)

    def _microseconds(self, step: PlannedStep) -> float:
        seconds = self._seconds(step)
        if seconds is not None:
            return 1e6 * seconds
        if step.kind in self.store:
            return inf  # what does not run is not chosen where there is anything else
        alone = self.store.get(step.head_text) or 0.0
        return max(1e6 * alone, _least_time(NodeWork(step.operations, step.bytes), self.threads))

    def _seconds(self, step: PlannedStep) -> float | None:
        """Return the time of a step, in its fastest form where it was tuned."""
        known = (self.store.get(step.kind), self.forms.seconds(step.text))
        return min((seconds for seconds in known if seconds is not None), default=None)

    def missing(self, steps: Iterable[PlannedStep]) -> list[PlannedStep]:
        """Return the steps that have no time yet, each kind once."""
        missing = {
            step.kind: step
            for step in steps
            if step.kind not in self.store and self._seconds(step) is None
        }
        return list(missing.values())

    def failing(self, steps: Iterable[PlannedStep]) -> str | None:
        """Return the first step that does not run, None if all do as far as is known."""
        return next((step.label for step in steps if self._microseconds(step) == inf), None)

    def measure(
        self, steps: Iterable[PlannedStep], progress: Callable[[str], None] | None = None
    ) -> None:
        """Measure the steps that have no time yet, and keep what is found step by step.

        ``progress`` is told what was measured.
        """
        from polygym.graphs.execution.timing import plan_timing

        for step in self.missing(steps):
            begin = time.monotonic()
            self.store.put(step.kind, plan_timing.step_seconds(step))
            self.measured_count += 1
            self.measuring_seconds += time.monotonic() - begin
            if progress is not None:
                progress(f"measured {step.label}")


@dataclass
class TimedCosts:
    """Costs by the times of steps."""

    times: StepTimes = field(default_factory=StepTimes)

    @classmethod
    def of_user(cls, threads: int = 1) -> Self:
        """Return the costs that are kept in the user's cache folder."""
        return cls(StepTimes.of_user(threads))

    @property
    def name(self) -> str:
        """What these costs are called."""
        return "measured"

    @property
    def unit(self) -> str:
        """What they count."""
        return "µs"

    @property
    def measured_count(self) -> int:
        """How many steps were measured."""
        return self.times.measured_count


@dataclass
class MeasuredCosts(TimedCosts):
    """Microseconds of operators, each by itself.

    With ``fuses``, functions of elements cost their arithmetic alone: what the kernel of an operand
    takes more for them, about, and never more.
    """

    fuses: bool = False
    _steps: dict[str, tuple[PlannedStep, ...] | None] = field(default_factory=dict, repr=False)

    def cost(self, head: Head, children: tuple[Any, ...], data: Data) -> float:
        """Return the time of a node, or an estimate that is too good where there is none."""
        if not is_executed(head, children, data):
            return 0.0
        if self._is_fused(head, children, data):
            work = NodeWork(node_work(head, children, data).operations, 0)
            return _least_time(work, self.times.threads)
        steps = self._steps_of(head, children)
        return inf if steps is None else self.times.cost(steps)

    def now(self, head: Head, children: tuple[Any, ...], data: Data) -> float:
        """Return the time of a node, which is measured if it was not before."""
        self.measure([(head, children, data)])
        return self.cost(head, children, data)

    def missing(self, nodes: Iterable[TypedNode]) -> list[PlannedStep]:
        """Return the steps of nodes that have no time yet, each once."""
        return self.times.missing(
            step
            for node in nodes
            if is_executed(*node) and not self._is_fused(*node)
            for step in self._steps_of(node[0], node[1]) or ()
        )

    def measure(
        self, nodes: Iterable[TypedNode], progress: Callable[[str], None] | None = None
    ) -> None:
        """Measure the steps of nodes that have no time yet."""
        self.times.measure(self.missing(nodes), progress)

    def failing(self, nodes: Iterable[TypedNode]) -> str | None:
        """Return the first operator that does not run, None if all do."""
        for head, children, data in nodes:
            if self.cost(head, children, data) == inf:
                steps = self._steps_of(head, children)
                return operator_key(head, children) if steps is None else self.times.failing(steps)
        return None

    def _is_fused(self, head: Head, children: tuple[Any, ...], data: Data) -> bool:
        """Whether a kernel of an operand may compute a node, too."""
        if not self.fuses or operator_named(head).element is None:
            return False
        assert isinstance(data, TensorType)
        return any(
            isinstance(child, TensorType) and child.shape == data.shape and not child.constant
            for child in children
        )

    def _steps_of(self, head: Head, children: tuple[Any, ...]) -> tuple[PlannedStep, ...] | None:
        """Return the steps of an operator, None where there is no code of it."""
        from polygym.graphs.execution.timing.plan_timing import operator_steps

        key = operator_key(head, children)
        if key not in self._steps:
            try:
                self._steps[key] = operator_steps(head, children, self.times.threads)
            except (PolygymError, MemoryError):
                self._steps[key] = None
        return self._steps[key]


@dataclass
class PlanCosts(TimedCosts):
    """Microseconds of graphs: of all steps that a model runs."""

    def steps(self, graph: Graph) -> tuple[PlannedStep, ...]:
        """Return what a model of the graph runs, by what is known now of forms and fusion."""
        from polygym.graphs.execution.timing.plan_timing import planned_steps

        return planned_steps(graph, self.times.threads, self.times.forms)

    def cost(self, graph: Graph) -> float:
        """Return what a graph takes, or less where some steps have no time yet."""
        return self.times.cost(self.steps(graph))

    def measure(self, graph: Graph, progress: Callable[[str], None] | None = None) -> float:
        """Measure the steps of a graph, which may be others then, and return what it takes."""
        while missing := self.times.missing(self.steps(graph)):
            self.times.measure(missing, progress)
        return self.cost(graph)
