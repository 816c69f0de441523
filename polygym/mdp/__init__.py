"""Markov decision processes: a schedule and its mapping, one decision at a time, as plain values.

=====================  =============================================================================
``action_sequence``    the way from an episode to a schedule and a mapping
``construction``       the process that constructs a schedule space
``editing``            the process that edits a schedule: from a legal one to another, edit by edit
``env_ids``            the environments' names
``episode``            an episode
``exploration``        the process that explores a schedule space
``extractors``         extractors of cost features, one for each schedule of a task
``mapping_decisions``  the process that decides a mapping
``nest_shapes``        the nests of a schedule
``observation``        observations of episodes as arrays
``policies``           policies of episodes
``predicted_reward``   reward by a cost model in the place of a clock: a predicted speedup
``problems``           programs that episodes are about
``records``            records of episodes as JSON
``rewards``            rewards: what an episode is worth at its end
``storage_decisions``  the process that decides where a program is cut and where it keeps its values
``task_options``       phases of an episode, the sizes of its processes, and the decisions in them
``transforming``       the process that transforms a program: its actions are steps on named loops
=====================  =============================================================================
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
