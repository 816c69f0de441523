"""A trial of storage variants: a few schedules of each, measured before a search of one of them.

Models of cost choose the storage and the splitting of a program before it is searched, and may be
wrong. So the program as it was written is tried beside it: of both, the automatic schedule and
isl's run under the mapping to start from, and in one thread. The search goes on with the changed
program only where that beats the source, and whatever was measured with the storage of the source,
by more than noise.

Example, a blur of bytes, 512 by 512, in two threads: with the sums in an array it is 0.68 times as
fast as the source at best, with the storage of the source 1.02 times; so the latter is searched.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from polygym.autoschedule.schedule_choice import resolved_schedule_within
from polygym.errors import PolygymError
from polygym.mapping.sizes import scop_sizes
from polygym.poly.scheduling.strategy import AUTO, ISL
from polygym.programs import Program
from polygym.runtime.evaluation import TIMING_NOISE, Evaluation
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.search.result import is_faster_than_source
from polygym.search.runner.local import RunnerFactory
from polygym.search.settings import SearchSetting


@dataclass(frozen=True, slots=True)
class TriedStorage:
    """A storage variant of a program, and the outcomes of the schedules that were tried."""

    storage: str
    splitting: str
    outcomes: tuple[Evaluation, ...]

    @property
    def speedup(self) -> float:
        """The speedup of the fastest that beats the source by more than noise, 1 without one."""
        faster = (outcome.speedup for outcome in self.outcomes if is_faster_than_source(outcome))
        return max(faster, default=1.0)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "storage": self.storage,
            "splitting": self.splitting,
            "outcomes": [
                {
                    "schedule": str(outcome.schedule),
                    "mapping": str(outcome.mapping),
                    "status": outcome.status.value,
                    "speedup": outcome.speedup,
                }
                for outcome in self.outcomes
            ],
        }


@dataclass(frozen=True, slots=True)
class StorageTrial:
    """The result: the setting to search, and what was tried; nothing where nothing is to choose."""

    setting: SearchSetting
    tried: tuple[TriedStorage, ...] = ()

    def to_json(self) -> list[dict[str, Any]]:
        """Return plain data, the program as it was written last."""
        return [variant.to_json() for variant in self.tried]


def try_storage(
    setting: SearchSetting,
    factory_of: Callable[[SearchSetting], RunnerFactory],
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> StorageTrial:
    """Return the setting of the program as models would have it, or of it as it was written.

    Raises:
        ProblemError: the program does not run.
    """
    if setting.as_written is setting:
        return StorageTrial(setting)
    changed, written = (
        _tried(candidate, factory_of(candidate), waiting)
        for candidate in (setting, setting.as_written)
    )
    is_better = changed.speedup > (1 + TIMING_NOISE) * written.speedup
    return StorageTrial(setting if is_better else setting.as_written, (changed, written))


def _tried(
    setting: SearchSetting,
    factory: RunnerFactory,
    waiting: Callable[[], AbstractContextManager[None]],
) -> TriedStorage:
    """Measure a few schedules of a program."""
    with waiting():
        program = setting.subject.program
        choices = tuple(dict.fromkeys(_choices(program, setting)))
    with factory(program, setting.evaluation, setting.plan.jobs) as runner:
        outcomes = []
        for choice in choices:
            with waiting():
                outcomes.append(runner.measure(choice, None, retries=True))
    source = setting.source
    return TriedStorage(str(source.storage), str(source.splitting), tuple(outcomes))


def _choices(program: Program, setting: SearchSetting) -> Iterator[MappedSchedule]:
    """Yield the automatic schedule and isl's, each under the mapping and in one thread."""
    scop, mapping = program.scop, setting.evaluation.mapping
    sizes, machine = scop_sizes(scop, dict(program.parameters)), setting.plan.model_options.machine
    for strategy in (AUTO, ISL):
        try:
            schedule = resolved_schedule_within(strategy, scop, sizes, mapping, machine=machine)
        except PolygymError:
            continue
        yield schedule, mapping
        yield schedule, replace(mapping, threads=1)
