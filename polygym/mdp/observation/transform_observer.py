"""Observation of an episode in which a program is transformed.

The usual arrays show the rows of the schedule so far, those of the decisions its nests and the
features of the candidate. :mod:`polygym.mdp.observation.transform_arrays` has the others.
"""

from dataclasses import dataclass

import numpy as np

from polygym.mdp.episode import Episode
from polygym.mdp.observation import mapping_arrays, transform_arrays
from polygym.mdp.observation.arrays import Array, Observation, logarithm
from polygym.mdp.observation.decision_observer import DecisionObserver
from polygym.mdp.observation.episode_arrays import REMAINING_COLUMNS
from polygym.mdp.task_options import Phase
from polygym.poly.integer_vectors import Vector

_STEPS = REMAINING_COLUMNS.index("steps_at_most")
_EDITS = mapping_arrays.QUESTION_COLUMNS.index("edits")
_EDITING = mapping_arrays.QUESTION_COLUMNS.index("editing")


@dataclass(eq=False)
class TransformObserver(DecisionObserver):
    """Turns episodes in which a program is transformed into observations."""

    def observe_all(self, episode: Episode, allowed: Array, *, features: bool) -> Observation:
        """Return what an agent sees that may take these of its actions."""
        state = episode.transform_state
        assert state is not None
        usual = self.observe(episode, allowed)
        is_over = episode.phase is not Phase.TRANSFORM
        usual["remaining"][_STEPS] = 0 if is_over else episode.transform_steps_left + 1
        question = np.zeros(len(mapping_arrays.QUESTION), np.float32)
        question[_EDITING] = not is_over
        question[_EDITS] = logarithm(len(state.steps))
        nests = self.task.nests(state.schedule)
        statements = tuple(statement.name for statement in self.task.scop.statements)
        loops = transform_arrays.loops_array(state, self.task.sizes)
        offer = None if is_over else episode.offer
        vector = self._features(episode, state.schedule) if features else None
        return {
            **usual,
            "question": question,
            "choices": transform_arrays.choices_array(
                offer, loops, self.task.options.actions
            ).ravel(),
            "nests": mapping_arrays.nests_array(nests, state.mapping, None).ravel(),
            "nest_of": mapping_arrays.nest_of_statements(nests, statements),
            "candidate": mapping_arrays.candidate_array(vector),
            "loops": loops.ravel(),
            "loop_of": transform_arrays.loop_of_statements(state),
        }

    def _points(self, episode: Episode) -> tuple[Vector, ...]:
        state = episode.transform_state
        assert state is not None
        schedule = state.schedule
        return self._edited.get(schedule, lambda: self._rows(schedule))
