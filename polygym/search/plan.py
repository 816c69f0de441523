"""The plan of a search: strategy, size, limits."""

from dataclasses import dataclass, fields
from typing import Any

from polygym.errors import InputError
from polygym.mdp.policies.registry import Policy
from polygym.pickling import pickle_by_name
from polygym.poly.scheduling.strategy import AUTO, ScheduleStrategy
from polygym.search.strategies.model_options import DEFAULT_MODEL_OPTIONS, ModelOptions
from polygym.search.strategies.registry import check_strategy, strategy_entry

EXTENT_KEYS = ("budget", "mapping_budget", "time_limit", "jobs")
"""Options that may differ where a search goes on."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The strategy of a search, and the extent of it.

    ``budget`` counts proposals of the strategy beside the initial candidates; ``mapping_budget``
    counts mappings that are tried for the best schedules afterwards. After ``time_limit`` seconds
    no candidate is begun, but the first one is tried in any case. ``jobs`` candidates are compiled
    at a time, None for one on each core. ``schedule`` is the schedule to start from; with
    ``is_fixed`` only its mapping is searched.
    """

    budget: int = 1000
    population: int = 100
    strategy: str | Policy = "genetic"
    seed: int = 0
    time_limit: float | None = None
    jobs: int | None = None
    model_options: ModelOptions = DEFAULT_MODEL_OPTIONS
    mapping_budget: int = 0
    schedule: ScheduleStrategy = AUTO
    is_fixed: bool = False

    def __post_init__(self) -> None:
        """Refuse a plan that makes no sense."""
        check_strategy(self.strategy)
        for name, least in (("budget", 1), ("population", 1), ("jobs", 1), ("mapping_budget", 0)):
            value = getattr(self, name)
            if not (name == "jobs" and value is None) and (type(value) is not int or value < least):
                raise InputError(f"{name}: expected a number from {least} on, found {value!r}")
        if type(self.seed) is not int or not 0 <= self.seed < 2**63:
            raise InputError(f"seed: expected 0 to {2**63 - 1}, found {self.seed!r}")
        if self.time_limit is not None and not self.time_limit >= 0:
            raise InputError(f"time_limit: expected a number from 0 on, found {self.time_limit!r}")
        strategy = strategy_entry(self.strategy) if isinstance(self.strategy, str) else None
        if self.is_fixed and strategy and not strategy.takes_fixed_schedule:
            raise InputError(
                f"a fixed schedule: expected a strategy that searches mappings alone, found "
                f"{self.strategy}"
            )

    def to_json(self) -> dict[str, Any]:
        """Return plain data: the extent, and the options that the strategy takes."""
        taken = () if not isinstance(self.strategy, str) else strategy_entry(self.strategy).options
        ignored = ("model_options", "population", "schedule", "is_fixed")
        names = [entry.name for entry in fields(self) if entry.name not in ignored]
        result = {name: getattr(self, name) for name in names}
        result |= {"population": self.population} if "population" in taken else {}
        models = self.model_options
        result |= {"model": models.model.digest} if "model" in taken else {}
        if "acquisition" in taken:
            result |= {"acquisition": models.acquisition.value, "learner": models.kind.value}
        result |= {"from": str(self.schedule)} if self.schedule != AUTO else {}
        return result | ({"schedule": "fixed"} if self.is_fixed else {})


DEFAULT_PLAN = SearchPlan()
