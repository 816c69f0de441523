"""Observation of an episode with decisions: the usual arrays, and those of the decisions.

The features of the candidate are looked at in every state that has a schedule. For a new schedule
that takes tens of milliseconds, for another mapping of it about one; an observer that need not
show them leaves them 0.
"""

from dataclasses import dataclass, field

from polygym.errors import LimitError, PolygymError
from polygym.lru_cache import LruCache
from polygym.mdp.editing import MOST_STEPS
from polygym.mdp.episode import Episode
from polygym.mdp.extractors import extractor_of
from polygym.mdp.observation import mapping_arrays as shown
from polygym.mdp.observation.arrays import Array, Observation
from polygym.mdp.observation.episode_arrays import REMAINING_COLUMNS
from polygym.mdp.observation.schedule_observer import Observer
from polygym.mdp.task_options import Phase
from polygym.poly.integer_vectors import Vector
from polygym.poly.schedule import Schedule


@dataclass(eq=False)
class DecisionObserver(Observer):
    """Turns episodes in which a mapping is decided into observations."""

    _edited: LruCache[Schedule, tuple[Vector, ...]] = field(default_factory=lambda: LruCache(32))

    def observe_all(self, episode: Episode, allowed: Array, *, features: bool) -> Observation:
        """Return what an agent sees that may take these of its actions."""
        schedule = _schedule(episode)
        deciding, editing = episode.mapping_state, episode.edit_state
        question = None if deciding is None else deciding.question
        nests = () if schedule is None else self.task.nests(schedule)
        answers = episode.mask()[self.task.options.first_answer :]
        mapping = episode.mapping
        assert mapping is not None
        statements = tuple(statement.name for statement in self.task.scop.statements)
        vector = self._features(episode, schedule) if features else None
        usual = self.observe(episode, allowed)
        if episode.phase in (Phase.EDIT, Phase.MAP):
            usual["remaining"][REMAINING_COLUMNS.index("steps_at_most")] = _steps_left(episode)
        return {
            **usual,
            "question": shown.question_array(deciding, editing),
            "choices": shown.choices_array(deciding, editing, answers).ravel(),
            "nests": shown.nests_array(nests, mapping, question).ravel(),
            "nest_of": shown.nest_of_statements(nests, statements),
            "candidate": shown.candidate_array(vector),
        }

    def _points(self, episode: Episode) -> tuple[Vector, ...]:
        """Return the rows so far: those of the schedule where one is edited."""
        if episode.edit_state is None:
            return super()._points(episode)
        schedule = episode.edit_state.schedule
        return self._edited.get(schedule, lambda: self._rows(schedule))

    def _rows(self, schedule: Schedule) -> tuple[Vector, ...]:
        layout = self.task.polyhedra.layout
        return tuple(
            layout.point({part.statement: part.rows[place] for part in schedule.statements})
            for place in range(schedule.dimensions)
        )

    def _features(self, episode: Episode, schedule: Schedule | None) -> Array | None:
        if schedule is None or episode.mapping is None:
            return None
        extractor = extractor_of(self.task, schedule)
        if isinstance(extractor, PolygymError):
            return None
        features = extractor.features_of(episode.mapping)
        return None if isinstance(features, PolygymError) else features.vector


def _steps_left(episode: Episode) -> int:
    """Return how many steps the rest of this phase takes at most."""
    if episode.mapping_state is not None:
        return episode.mapping_state.questions_left
    assert episode.edit_state is not None
    return MOST_STEPS - min(MOST_STEPS, episode.edit_state.step_count) + 2


def _schedule(episode: Episode) -> Schedule | None:
    """Return the schedule of an episode, if there is one by now."""
    if episode.edit_state is None and episode.phase not in (Phase.MAP, Phase.COMPLETE):
        return None
    try:
        return episode.schedule()
    except LimitError:
        return None
