"""All that determines the course of a search: program, plan, conditions.

Two searches with one setting propose the same candidates. A journal begins with its setting, and
only a search with the same one may continue it.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from polygym.autoschedule.weights import weights_digest
from polygym.cost.models import pretrained as trees
from polygym.mdp.env_ids import OPTIMIZE, SCHEDULE
from polygym.mdp.episode import Episode
from polygym.mdp.policies.registry import LEARNED, POLICIES
from polygym.mdp.problems.loading import ProgramSource, ScheduleProblem, problem_of
from polygym.mdp.records import episode_record
from polygym.mdp.records.record_checks import START_KEY
from polygym.mdp.task_options import MappingDecisions
from polygym.poly.scheduling.strategy import AUTO
from polygym.poly.transform.splitting.conditions import NO_SPLITTING
from polygym.poly.transform.storage.plan import SOURCE_STORAGE
from polygym.runtime.evaluation import Evaluation
from polygym.search.conditions import SearchConditions
from polygym.search.plan import SearchPlan
from polygym.search.strategies.registry import strategy_entry
from polygym.search.strategies.samplers import MODEL_POLICY
from polygym.version import __version__

FORMAT = "polygym search"
VERSION = 2

# Of the conditions, those that are not of the process: its sizes stand beside the process.
_CONDITION_KEYS = ("threads", "timeout_factor", "mapping")


@dataclass(frozen=True, kw_only=True)
class SearchSetting(SearchConditions):
    """The program of a search, its plan, and how candidates are measured.

    The program is read once: its file may change while the search is at work. Episodes are those of
    the environment that builds whole schedules; those of the pretrained policy edit the schedule
    that a cost model takes among a few, and decide its mapping too.
    """

    source: ProgramSource
    plan: SearchPlan = field(default_factory=SearchPlan)

    def __post_init__(self) -> None:
        """Refuse a strategy that cannot be used here."""
        object.__setattr__(self, "seed", self.plan.seed)
        super().__post_init__()
        strategy_entry(self.strategy).expect(self.plan.model_options)

    @property
    def strategy(self) -> str:
        """The name of the strategy."""
        assert isinstance(self.plan.strategy, str)
        return self.plan.strategy

    @cached_property
    def subject(self) -> ScheduleProblem:
        """The program and its processes."""
        options = self.options
        if self.decides_mapping:
            decisions = MappingDecisions(self.evaluation.mapping, AUTO)
            options = replace(options, mapping_decisions=decisions)
        return problem_of(self.source, options)

    @cached_property
    def as_written(self) -> "SearchSetting":
        """The same of the program as it was written: not split, with the storage of the source."""
        source = replace(self.source, splitting=NO_SPLITTING, storage=SOURCE_STORAGE)
        return self if source == self.source else replace(self, source=source)

    @property
    def decides_mapping(self) -> bool:
        """Whether episodes decide about a mapping too."""
        return self.strategy == LEARNED

    def record(self, episode: Episode, evaluation: Evaluation | None) -> dict[str, Any]:
        """Return an episode as JSON that can be replayed."""
        name, arguments = SCHEDULE, self._arguments()
        if self.decides_mapping:
            name, arguments = OPTIMIZE, {**arguments, START_KEY: str(AUTO)}
        return episode_record.record_of(name, arguments, self.subject, episode, evaluation)

    def record_of_schedule(self, evaluation: Evaluation) -> dict[str, Any]:
        """Return a schedule that no episode led to as JSON that can be replayed."""
        mapping = evaluation.mapping
        arguments = {**self._arguments(), "mapping": str(mapping), "threads": mapping.threads}
        return episode_record.record_of_schedule(SCHEDULE, arguments, self.subject, evaluation)

    def to_json(self) -> dict[str, Any]:
        """Return everything that decides what is explored and how it is measured."""
        whole, conditions = self.record(self.subject.task.start(), None), self.conditions_json()
        return {
            "format": FORMAT,
            "version": VERSION,
            "polygym": __version__,
            "program": whole["program"],
            "process": whole["process"],
            **self.plan.to_json(),
            **self._learned(),
            **{name: conditions[name] for name in _CONDITION_KEYS},
        }

    def _learned(self) -> dict[str, Any]:
        """Return what decides the choices of the pretrained policy, if it is the strategy."""
        if self.strategy != LEARNED:
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
            # A replay plays actions; the policy that is named here only has to be one.
            "policy": self.strategy if self.strategy in POLICIES else MODEL_POLICY,
            **conditions,
        }
