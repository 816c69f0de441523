"""What a search explores: the program, its sizes, the processes, the policy, the dice.

Two searches with one setting explore the same schedules. A journal begins with its setting, and
only a search with the same one may continue it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from polygym.compiler.poly.strategy import AUTO
from polygym.cost import shipped as trees
from polygym.cost.chosen import SHIPPED, ChosenModel
from polygym.episodes import record
from polygym.episodes.episode import Episode
from polygym.episodes.ids import OPTIMIZE, SCHEDULE
from polygym.episodes.kernels import Source, Subject, subject
from polygym.episodes.learned_weights import digest
from polygym.episodes.policies import LEARNED
from polygym.episodes.recorded import START
from polygym.episodes.task_options import Decides
from polygym.measure.evaluation import Evaluation
from polygym.search.explore.conditions import Conditions
from polygym.search.explore.players import BEHIND_MODEL, MODEL, Player, check_player, player
from polygym.version import __version__

FORMAT = "polygym search"
VERSION = 1

# Of the conditions, those that are of no process: the sizes of those stand beside the process.
_OF_ALL_SCHEDULES = ("seed", "threads", "timeout_factor", "mapping")


@dataclass(frozen=True, kw_only=True)
class Setting(Conditions):
    """A search, but for how long it goes on.

    The program is read once: its file may change while the search is at work. Episodes are those of
    the environment that builds whole schedules, with the policy in the agent's place; those of the
    policy that has learned edit the schedule that a model of cost takes among a few, and decide its
    mapping too.
    ``model`` is whom the policy asks that asks a model.
    """

    source: Source
    policy: str
    model: ChosenModel = SHIPPED

    def __post_init__(self) -> None:
        """Refuse what cannot be searched with."""
        super().__post_init__()
        check_player(self.policy, self.model)

    @cached_property
    def subject(self) -> Subject:
        """The program and its processes."""
        options = self.options
        if self.decides_mapping:
            options = replace(options, decides=Decides(self.measuring.mapping, AUTO))
        return subject(self.source, options)

    @property
    def decides_mapping(self) -> bool:
        """Whether episodes decide about a mapping too."""
        return self.policy == LEARNED

    @cached_property
    def play(self) -> Player:
        """Who plays: the policy, or a model that picks among what policies play."""
        subject = self.subject
        sizes = dict(subject.program.parameters)
        return player(self.policy, subject.task, sizes, self.measuring.mapping, self.model)

    def record(self, episode: Episode, evaluation: Evaluation | None) -> dict[str, Any]:
        """Return an episode as JSON that can be replayed."""
        if not self.decides_mapping:
            return record.of(SCHEDULE, self._arguments(), self.subject, episode, evaluation)
        arguments = {**self._arguments(), START: str(AUTO)}
        return record.of(OPTIMIZE, arguments, self.subject, episode, evaluation)

    def record_of_given(self, evaluation: Evaluation) -> dict[str, Any]:
        """Return a schedule that no episode led to as JSON that can be replayed."""
        return record.of_given(SCHEDULE, self._arguments(), self.subject, evaluation)

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
            **{name: conditions[name] for name in _OF_ALL_SCHEDULES},
        }

    def _learned(self) -> dict[str, Any]:
        """Return what decides the choices of the policy that has learned, if it is that."""
        if self.policy != LEARNED:
            return {}
        begins = str(self.subject.task.begins)
        return {"weights": digest(), "trees": trees.digest(), START: begins}

    def _arguments(self) -> dict[str, Any]:
        conditions = self.conditions_json()
        del conditions["compile_seconds"]
        return {
            "kernel": self.source.target,
            "dataset": self.source.dataset.name.lower(),
            "parameters": dict(self.source.parameters),
            "function": self.source.function,
            "reward": "speedup",
            "policy": BEHIND_MODEL if self.policy == MODEL else self.policy,
            **conditions,
        }
