"""Trials of the study, each of one model in one setting.

========== =================================================================== ==================
part       trials                                                              in the paper
========== =================================================================== ==================
search     saturation (k = 1 and 2), backtracking (n = 100, α = 1)             Table 1, Figures 4, 5
settings   backtracking with α = 1.05, and with n = 1,000                      section 6.1
k          saturation with k = 0 to 3                                          Figure 6
order      constraints against cycles: real, integer, none after filtering     Table 4
cycles     vanilla and efficient filtering                                     Table 5
end        before and after end to end, beside PyTorch and onnxruntime         Figure 4
runtime    speed-ups end to end with and without biases, five runs             Table 1, Figure 4
========== =================================================================== ==================

Greedy extraction (Table 3) is part of every saturation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from polygym.rewrite.egraph import CycleFilter
from polygym.rewrite.extraction import CycleConstraints

__all__ = ["MULTI_SOURCE_MODELS", "StudyMethod", "StudyPart", "Trial", "plan_trials"]

MULTI_SOURCE_MODELS = ("bert", "nasrnn", "nasnet-a")
"""The models of Tables 3 to 5."""


class StudyPart(Enum):
    """The parts of the study."""

    SEARCH = "search"
    SETTINGS = "settings"
    K = "k"
    ORDER = "order"
    CYCLES = "cycles"
    END = "end"
    RUNTIME = "runtime"


class StudyMethod(Enum):
    """How a graph is optimised; a race runs what saturation has found, runs what both have."""

    SATURATION = "saturation"
    BACKTRACKING = "backtracking"
    RACE = "race"
    RUNS = "runs"


@dataclass(frozen=True, slots=True)
class Trial:
    """One model in one setting."""

    part: str
    model: str
    method: str
    k_multi: int = 1
    cycles: str = CycleFilter.EFFICIENT.value
    order: str = CycleConstraints.LAZY.value
    alpha: float = 1.0
    iterations: int = 100

    @property
    def key(self) -> str:
        """The trial as a word: equal trials of two parts are run once."""
        return " ".join(str(value) for name, value in asdict(self).items() if name != "part")

    def to_json(self) -> dict[str, Any]:
        """Return the trial as values of JSON."""
        return asdict(self)


def plan_trials(parts: Sequence[StudyPart], models: Sequence[str]) -> list[Trial]:
    """Return the trials of parts, model by model, each setting once."""
    trials: dict[str, Trial] = {}
    for part in parts:
        for model in models:
            for trial in _part_trials(part, model):
                trials.setdefault(trial.key, trial)
    return list(trials.values())


def _part_trials(part: StudyPart, model: str) -> Iterator[Trial]:
    saturation, backtracking = StudyMethod.SATURATION.value, StudyMethod.BACKTRACKING.value
    name = part.value
    match part:
        case StudyPart.SEARCH:
            yield Trial(name, model, saturation)
            yield Trial(name, model, saturation, k_multi=2)
            yield Trial(name, model, backtracking)
        case StudyPart.SETTINGS:
            yield Trial(name, model, backtracking, alpha=1.05)
            yield Trial(name, model, backtracking, iterations=1000)
        case StudyPart.K:
            for k in range(4):
                yield Trial(name, model, saturation, k_multi=k)
        case StudyPart.ORDER if model in MULTI_SOURCE_MODELS:
            for k in (1, 2):
                for order in (CycleConstraints.REAL, CycleConstraints.INTEGER):
                    no_filter = CycleFilter.NONE.value
                    yield Trial(name, model, saturation, k, no_filter, order.value)
                yield Trial(name, model, saturation, k, order=CycleConstraints.NONE.value)
        case StudyPart.CYCLES if model in MULTI_SOURCE_MODELS:
            for k in (1, 2):
                for filter_ in (CycleFilter.VANILLA, CycleFilter.EFFICIENT):
                    yield Trial(name, model, saturation, k, filter_.value)
        case StudyPart.END:
            yield Trial(name, model, StudyMethod.RACE.value)
        case StudyPart.RUNTIME:
            for text in (model, f"{model}:bias"):
                yield Trial(name, text, StudyMethod.RUNS.value)
        case _:
            pass
