"""Decision processes: building a schedule one decision at a time, as plain values.

``construction`` and ``exploration`` are the states, masks and transitions of the two processes;
``episode`` runs one after the other for a program. Before that it may be decided where the program
is cut and keeps its values, by ``storing``; ``recipes`` do so without an episode, ``homes`` by a
model, whose answers ``kept_homes`` remembers. Where a mapping is decided too, ``editing`` changes a
schedule and ``decisions`` asks about the mapping, nest by nest (``nest_shapes``). ``task_options``
say how large all of that is. ``observe`` turns an episode into arrays of fixed shapes (``tables``
has their columns, ``portrait`` what no action changes, ``nests`` the loops that statements share;
``observe_decisions`` and ``decision_tables`` do so for mappings, ``storage_tables`` for storage),
and ``policies`` names who decides: ``rules``, and the policy that has ``learned`` from
measurements, whose ``learned_weights`` come with polygym and give a ``promise`` of schedules and
mappings. An ``automatic`` schedule to begin with is one of a few. In both, weights and a model of
cost give ``opinions``. Every state is an immutable value, so a copy for a tree search costs
nothing.

``kernels`` resolves which programs episodes are about and keeps what is computed once for each;
``toward`` finds the actions that lead to a given schedule and mapping;
``record`` writes an episode as JSON and plays it again (``recorded`` checks what one says, entry by
entry, by ``entries``; ``ids`` are the names that it may have). ``reward`` says what an episode is
worth at its end (``predicted`` asks a model of cost for it), ``arguments`` checks what environments
are made with. Nothing here knows Gymnasium.
"""

from __future__ import annotations

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
