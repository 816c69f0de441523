"""What a search explores: the program, its sizes, the processes, the policy, the dice.

Two searches with one setting explore the same schedules. A journal begins with its setting, and
only a search with the same one may continue it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polygym
from polygym.compiler.codegen.mapping import in_current_words
from polygym.episodes import record
from polygym.episodes.episode import Episode, TaskOptions
from polygym.episodes.ids import SCHEDULE
from polygym.episodes.kernels import Source, Subject, subject
from polygym.episodes.policies import Policy, policy
from polygym.errors import InputError
from polygym.measure.evaluation import Evaluation, EvaluationOptions

FORMAT = "polygym search"
VERSION = 1
_LARGEST_SEED = 2**63 - 1

# Episodes of a search are those of this environment, with the policy in the agent's place.


@dataclass(frozen=True)
class Setting:
    """A search, but for how long it goes on.

    The program is read once: its file may change while the search is at work.
    """

    source: Source
    options: TaskOptions
    measuring: EvaluationOptions
    policy: str
    seed: int

    def __post_init__(self) -> None:
        """Refuse what cannot be searched with."""
        policy(self.policy)
        if not 0 <= self.seed <= _LARGEST_SEED:
            raise InputError(f"a seed: expected 0 to {_LARGEST_SEED}, found {self.seed}")

    @cached_property
    def subject(self) -> Subject:
        """The program and its processes."""
        return subject(self.source, self.options)

    @property
    def choose(self) -> Policy:
        """The policy."""
        return policy(self.policy)

    def record(self, episode: Episode, evaluation: Evaluation | None) -> dict[str, Any]:
        """Return an episode as JSON that can be replayed."""
        return record.of(SCHEDULE, self._arguments(), self.subject, episode, evaluation)

    def record_of_given(self, evaluation: Evaluation) -> dict[str, Any]:
        """Return a schedule that no episode led to as JSON that can be replayed."""
        return record.of_given(SCHEDULE, self._arguments(), self.subject, evaluation)

    def to_json(self) -> dict[str, Any]:
        """Return everything that decides what is explored and how it is measured."""
        whole = self.record(self.subject.task.start(), None)
        return {
            "format": FORMAT,
            "version": VERSION,
            "polygym": polygym.__version__,
            "program": whole["program"],
            "process": whole["process"],
            "policy": self.policy,
            "seed": self.seed,
            "threads": self.measuring.threads,
            "timeout_factor": self.measuring.timeout_factor,
            "mapping": str(self.measuring.mapping),
        }

    def _arguments(self) -> dict[str, Any]:
        limits = self.options.limits
        return {
            "kernel": self.source.target,
            "dataset": self.source.dataset.name.lower(),
            "parameters": dict(self.source.parameters),
            "function": self.source.function,
            "max_coefficient": self.options.max_coefficient,
            "max_dimensions": self.options.max_dimensions,
            "max_rays": limits.rays,
            "max_vertices": limits.vertices,
            "reward": "speedup",
            "threads": self.measuring.threads,
            "timeout_factor": self.measuring.timeout_factor,
            "mapping": str(self.measuring.mapping),
            "policy": self.policy,
            "seed": self.seed,
        }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what differs between two settings in JSON; mappings are compared as mappings.

    >>> differences({"seed": 1, "process": {"max_rays": 64}}, {"seed": 2, "process": {}})
    ('seed: 1 before, 2 now', 'process.max_rays: 64 before, None now')
    """
    return tuple(_differences(before, now, ""))


def _differences(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name in dict.fromkeys((*before, *now)):
        old, new = before.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _differences(old, new, f"{prefix}{name}.")
        elif old == new or (name == "mapping" and _is_one_mapping(old, new)):
            continue
        elif name == "sha256":
            yield "the text of the program's source file"
        else:
            yield f"{prefix}{name}: {old} before, {new} now"


def _is_one_mapping(old: Any, new: Any) -> bool:
    """Whether two texts stand for the same mapping, one in words of an earlier polygym, say."""
    texts = isinstance(old, str) and isinstance(new, str)
    return texts and in_current_words(old) == in_current_words(new)
