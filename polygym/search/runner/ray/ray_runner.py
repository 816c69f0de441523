"""A fleet as a bench: a tuner's candidates are measured on many nodes of one kind.

What can be done beforehand for a batch is all of it: it is measured when it is prepared, a part on
each node, and the tuner, which learns from one candidate after the other, finds the answers there.
The last comparison is of runs in turn, so one node makes it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any

from polygym.mdp.problems.loading import ProgramSource
from polygym.programs import Program
from polygym.runtime.evaluation import Evaluation, EvaluationOptions
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.runtime.worker.outcome import WorkerError
from polygym.search.runner.ray.fleet.fleet import Fleet
from polygym.search.runner.ray.fleet.node_kinds import NodeKind
from polygym.search.runner.ray.fleet.programs import SentTexts
from polygym.search.runner.ray.measurements import BatchSupply

_ROUNDS = 2  # so many batches per node, for the slower ones


@dataclass(slots=True)
class RayRunner:
    """The nodes of one kind, for one program."""

    fleet: Fleet
    kind: NodeKind
    source: ProgramSource
    program: Program
    options: EvaluationOptions
    is_stopped: Callable[[], bool]
    show: Callable[[], None] = lambda: None
    _ready: dict[MappedSchedule, Evaluation] = field(default_factory=dict)
    _baseline: float = 0.0
    _sent: SentTexts = field(default_factory=SentTexts)

    @property
    def baseline_seconds(self) -> float:
        """The original order's time, as the last node had it."""
        return self._baseline

    def prepare(
        self, choices: Sequence[MappedSchedule], best_so_far: float, is_over: Callable[[], bool]
    ) -> None:
        """Measure choices, some on each node."""
        new = [schedule for schedule in dict.fromkeys(choices) if schedule not in self._ready]
        size = max(1, ceil(len(new) / (_ROUNDS * max(1, self.fleet.workers))))
        # The first of all is what others are compared with, which is measured patiently.
        answers = self._measure(
            new, is_over, best_so_far=best_so_far, size=size, patiently=not self._baseline
        )
        self._ready.update((new[place], evaluation) for place, evaluation in answers.items())

    def is_ready(self, choice: MappedSchedule) -> bool:
        """Whether it is measured."""
        return choice in self._ready

    def measure(
        self, choice: MappedSchedule, best_so_far: float | None, *, retries: bool = False
    ) -> Evaluation:
        """Return the outcome of :meth:`prepare`, or measure now."""
        if choice not in self._ready:
            self.prepare([choice], inf if best_so_far is None else best_so_far, lambda: False)
        if choice not in self._ready:
            raise WorkerError("expected an answer of the cluster, found none")
        return self._ready.pop(choice)

    def measure_together(
        self, choices: Sequence[MappedSchedule], rounds: int
    ) -> tuple[Evaluation, ...]:
        """Measure in turn, on one node."""
        evaluations = self._measure(choices, lambda: False, rounds=rounds).values()
        if len(evaluations) != len(choices):
            raise WorkerError("expected an answer of the cluster, found none")
        return tuple(evaluations)

    def _measure(
        self, choices: Sequence[MappedSchedule], is_over: Callable[[], bool], **how: Any
    ) -> dict[int, Evaluation]:
        """Have choices measured; a stop is a KeyboardInterrupt, with what came before it kept."""
        batches = BatchSupply(self.source, self.options, self.kind, self._sent, choices, **how)
        self.fleet.run(batches, lambda: self.is_stopped() or is_over(), self.show)
        self._baseline = batches.baseline or self._baseline
        if self.is_stopped():
            raise KeyboardInterrupt
        if batches.failures:
            raise WorkerError(batches.failures[0])
        scop = self.program.scop
        return {
            place: Evaluation.from_json(answer, scop) for place, answer in batches.answers.items()
        }


@dataclass(frozen=True, slots=True)
class RayRunnerFactory:
    """Opens benches on a fleet, for a program that can be loaded from a source.

    ``show`` is called while nodes are waited for.
    """

    fleet: Fleet
    kind: NodeKind
    source: ProgramSource
    is_stopped: Callable[[], bool]
    show: Callable[[], None] = lambda: None

    @contextmanager
    def __call__(
        self, program: Program, options: EvaluationOptions, jobs: int | None
    ) -> Iterator[RayRunner]:
        """Open one; how much is compiled at a time is the nodes' own."""
        yield RayRunner(
            self.fleet, self.kind, self.source, program, options, self.is_stopped, self.show
        )
