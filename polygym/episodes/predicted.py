"""What a model of cost says a candidate is worth, in place of a clock: a speedup that is predicted.

The score s of a candidate stands for -log2 of its time, up to a constant of the program
(:mod:`polygym.cost.model`), so beside the original order, in one thread and without a mapping, it
is expected to be 2^(s - s₀) times as fast. Example: scores 3.5 and 1.5 say four times as fast.

Models are fitted to put the candidates of a program in order; how far apart they are is less sure.
"""

from __future__ import annotations

from polygym.compiler.codegen.common.mapping import SEQUENTIAL, Mapping
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Schedule
from polygym.cost.candidate import features
from polygym.cost.chosen import SHIPPED
from polygym.cost.loop_tree import Forest
from polygym.cost.trees import expect_lightgbm
from polygym.episodes.episode import Task
from polygym.errors import LimitError, PolygymError
from polygym.lru import Memory

_MOST = 1000.0

# Of each task the original's score; tasks are compared by identity.
_originals: Memory[Task, float] = Memory(64)


def expect_model() -> None:
    """Refuse to go on without a model.

    Raises:
        InputError: there is none, or what reads it is missing.
    """
    expect_lightgbm()
    SHIPPED.expected()


def predicted_speedup(task: Task, schedule: Schedule, mapping: Mapping) -> float:
    """Return how many times as fast as the original order a legal schedule is expected to be.

    Raises:
        LimitError: isl would take too long to plan its loops.
    """
    written = task if task.written is None else task.written
    usual = _originals.get(written, lambda: _score(written, original(written.scop), SEQUENTIAL))
    ahead = _score(task, schedule, mapping) - usual
    return min(_MOST, float(2.0 ** min(64.0, ahead)))


def _score(task: Task, schedule: Schedule, mapping: Mapping) -> float:
    model = SHIPPED.expected()
    try:
        seen = features(LegalSchedule(task.scop, schedule), mapping, task.sizes)
    except PolygymError as error:
        raise LimitError(f"features of a schedule: {error}") from None
    loops = Forest.of([seen.loops]) if model.wants_loops else None
    return float(model.scores(seen.vector[None], loops).mean())
