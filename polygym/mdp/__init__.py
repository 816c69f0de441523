"""Markov decision processes: a schedule and its mapping, one decision at a time, as plain values.

``construction`` and ``exploration`` are the states, masks and transitions of the paper's two
processes; ``storage_decisions`` come before them, ``editing`` changes a schedule in their place,
and ``mapping_decisions`` ask about the mapping, nest by nest (``nest_shapes``). ``episode`` runs
one after the other for a program, within ``task_options``. Every state is an immutable value, so a
copy for a tree search costs nothing.

``observation`` turns episodes into arrays, ``policies`` choose actions, ``problems`` load
programs, ``records`` write and replay episodes, ``action_sequence`` finds the actions to a given
end. ``rewards`` is the value of an end, ``predicted_reward`` that of a cost model. Nothing here
depends on Gymnasium.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.mdp.env_ids import ENVIRONMENT_IDS
    from polygym.mdp.episode import Episode, Task
    from polygym.mdp.observation.arrays import ArraySpec
    from polygym.mdp.observation.schedule_observer import Observer
    from polygym.mdp.policies.registry import Policy, play_episode, policy_named
    from polygym.mdp.problems.loading import (
        ProgramSource,
        ScheduleProblem,
        problem_of,
        program_targets,
    )
    from polygym.mdp.records.episode_record import Replay, read_record, replay_record
    from polygym.mdp.task_options import Phase, TaskOptions
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "ENVIRONMENT_IDS",
    "ArraySpec",
    "Episode",
    "Observer",
    "Phase",
    "Policy",
    "ProgramSource",
    "Replay",
    "ScheduleProblem",
    "Task",
    "TaskOptions",
    "play_episode",
    "policy_named",
    "problem_of",
    "program_targets",
    "read_record",
    "replay_record",
]
