"""What an agent sees that decides a mapping too: the usual arrays, and those of the decisions.

The features of the candidate are looked at in every state that has a schedule. For a new schedule
that takes tens of milliseconds, for another mapping of it about one; an observer that need not
show them leaves them 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from polygym.compiler.poly.integers import Vector
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Schedule
from polygym.cost.candidate import Candidates
from polygym.episodes import decision_tables as shown
from polygym.episodes.editing import MOST_STEPS
from polygym.episodes.episode import Episode
from polygym.episodes.observe import Observer
from polygym.episodes.tables import REMAINING, Array, Observation
from polygym.episodes.task_options import Phase
from polygym.errors import LimitError, PolygymError
from polygym.lru import Memory


@dataclass(eq=False)
class DecisionObserver(Observer):
    """Turns episodes in which a mapping is decided into observations."""

    _candidates: Memory[Schedule, Candidates | None] = field(default_factory=lambda: Memory(32))
    _edited: Memory[Schedule, tuple[Vector, ...]] = field(default_factory=lambda: Memory(32))

    def observe_all(self, episode: Episode, allowed: Array, *, features: bool) -> Observation:
        """Return what an agent sees that may take these of its actions."""
        schedule = _schedule(episode)
        deciding = episode.deciding
        nests = () if schedule is None else self.task.nests(schedule)
        answers = episode.mask()[self.task.options.first_answer :]
        mapping = episode.mapping
        assert mapping is not None
        statements = tuple(one.name for one in self.task.scop.statements)
        vector = self._features(episode, schedule) if features else None
        usual = self.observe(episode, allowed)
        if episode.phase in (Phase.EDIT, Phase.MAP):
            usual["remaining"][REMAINING.index("steps_at_most")] = _steps(episode)
        return {
            **usual,
            "question": shown.of_question(deciding, episode.editing),
            "choices": shown.of_choices(deciding, episode.editing, answers).ravel(),
            "nests": shown.of_nests(
                nests, mapping, None if deciding is None else deciding.question
            ).ravel(),
            "nest_of": shown.of_statements(nests, statements),
            "candidate": shown.of_candidate(vector),
        }

    def _points(self, episode: Episode) -> tuple[Vector, ...]:
        """Return the rows so far: those of the schedule where one is edited."""
        if episode.editing is None:
            return super()._points(episode)
        schedule = episode.editing.schedule
        return self._edited.get(schedule, lambda: self._rows(schedule))

    def _rows(self, schedule: Schedule) -> tuple[Vector, ...]:
        layout = self.task.polyhedra.layout
        return tuple(
            layout.point({one.statement: one.rows[place] for one in schedule.statements})
            for place in range(schedule.dimensions)
        )

    def _features(self, episode: Episode, schedule: Schedule | None) -> Array | None:
        if schedule is None:
            return None
        known = self._candidates.get(schedule, lambda: self._candidate(schedule))
        if known is None or episode.mapping is None:
            return None
        (found,) = known.features([episode.mapping])
        return None if isinstance(found, PolygymError) else found.vector

    def _candidate(self, schedule: Schedule) -> Candidates | None:
        try:
            return Candidates(LegalSchedule(self.task.scop, schedule), self.task.sizes)
        except PolygymError:
            return None


def _steps(episode: Episode) -> int:
    """Return how many steps the rest of this phase takes at most."""
    if episode.deciding is not None:
        return episode.deciding.questions_left
    assert episode.editing is not None
    return MOST_STEPS - min(MOST_STEPS, episode.editing.steps) + 2


def _schedule(episode: Episode) -> Schedule | None:
    """Return the schedule of an episode, if there is one by now."""
    if episode.editing is None and episode.phase not in (Phase.MAP, Phase.COMPLETE):
        return None
    try:
        return episode.schedule()
    except LimitError:
        return None
