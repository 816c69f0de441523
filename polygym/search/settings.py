"""What a search explores: the program, its sizes, the processes, the policy, the dice.

Two searches with one setting explore the same schedules. A journal begins with its setting, and
only a search with the same one may continue it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from polygym.autoschedule.weights import weights_digest
from polygym.cost.models import pretrained as trees
from polygym.cost.models.model_choice import PRETRAINED, ModelChoice
from polygym.mdp.env_ids import OPTIMIZE, SCHEDULE
from polygym.mdp.episode import Episode
from polygym.mdp.policies.registry import LEARNED
from polygym.mdp.problems.loading import ProgramSource, ScheduleProblem, problem_of
from polygym.mdp.records import episode_record
from polygym.mdp.records.record_checks import START_KEY
from polygym.mdp.task_options import MappingDecisions
from polygym.poly.scheduling.strategy import AUTO
from polygym.runtime.evaluation import Evaluation
from polygym.search.conditions import SearchConditions
from polygym.search.strategies.samplers import (
    MODEL,
    MODEL_POLICY,
    EpisodeSampler,
    check_sampler,
    make_sampler,
)
from polygym.version import __version__

FORMAT = "polygym search"
VERSION = 1

# Of the conditions, those that are of no process: the sizes of those stand beside the process.
_CONDITION_KEYS = ("seed", "threads", "timeout_factor", "mapping")


@dataclass(frozen=True, kw_only=True)
class SearchSetting(SearchConditions):
    """A search, but for how long it goes on.

    The program is read once: its file may change while the search is at work. Episodes are those of
    the environment that builds whole schedules, with the policy in the agent's place; those of the
    policy that has learned edit the schedule that a model of cost takes among a few, and decide its
    mapping too.
    ``model`` is whom the policy asks that asks a model.
    """

    source: ProgramSource
    policy: str
    model: ModelChoice = PRETRAINED

    def __post_init__(self) -> None:
        """Refuse what cannot be searched with."""
        super().__post_init__()
        check_sampler(self.policy, self.model)

    @cached_property
    def subject(self) -> ScheduleProblem:
        """The program and its processes."""
        options = self.options
        if self.decides_mapping:
            options = replace(
                options, mapping_decisions=MappingDecisions(self.evaluation.mapping, AUTO)
            )
        return problem_of(self.source, options)

    @property
    def decides_mapping(self) -> bool:
        """Whether episodes decide about a mapping too."""
        return self.policy == LEARNED

    @cached_property
    def sampler(self) -> EpisodeSampler:
        """Who plays: the policy, or a model that picks among what policies play."""
        subject = self.subject
        sizes = dict(subject.program.parameters)
        return make_sampler(self.policy, subject.task, sizes, self.evaluation.mapping, self.model)

    def record(self, episode: Episode, evaluation: Evaluation | None) -> dict[str, Any]:
        """Return an episode as JSON that can be replayed."""
        if not self.decides_mapping:
            return episode_record.record_of(
                SCHEDULE, self._arguments(), self.subject, episode, evaluation
            )
        arguments = {**self._arguments(), START_KEY: str(AUTO)}
        return episode_record.record_of(OPTIMIZE, arguments, self.subject, episode, evaluation)

    def record_of_schedule(self, evaluation: Evaluation) -> dict[str, Any]:
        """Return a schedule that no episode led to as JSON that can be replayed."""
        return episode_record.record_of_schedule(
            SCHEDULE, self._arguments(), self.subject, evaluation
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything that decides what is explored and how it is measured."""
        whole, conditions = self.record(self.subject.task.start(), None), self.conditions_json()
        return {
            "format": FORMAT,
            "version": VERSION,
            "polygym": __version__,
            "program": whole["program"],
            "process": whole["process"],
            "policy": self.policy,
            **({"model": self.model.digest} if self.policy == MODEL else {}),
            **self._learned(),
            **{name: conditions[name] for name in _CONDITION_KEYS},
        }

    def _learned(self) -> dict[str, Any]:
        """Return what decides the choices of the policy that has learned, if it is that."""
        if self.policy != LEARNED:
            return {}
        begins = str(self.subject.task.initial_strategy)
        return {"weights": weights_digest(), "trees": trees.pretrained_digest(), START_KEY: begins}

    def _arguments(self) -> dict[str, Any]:
        conditions = self.conditions_json()
        del conditions["compile_seconds"]
        return {
            "kernel": self.source.target,
            "dataset": self.source.dataset.name.lower(),
            "parameters": dict(self.source.parameters),
            "function": self.source.function,
            "reward": "speedup",
            "policy": MODEL_POLICY if self.policy == MODEL else self.policy,
            **conditions,
        }
