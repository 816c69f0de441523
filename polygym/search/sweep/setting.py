"""What fixes the outcomes of a sweep: dice, sizes, threads, mapping, the size of the processes.

A store belongs to one setting: a sweep with another one is refused there, since its numbers would
not belong together. How much is explored (kernels, policies, budget, time) is no part of it: a
sweep may be continued with more of each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from polybench import Dataset
from polygym.compiler.codegen.mapping import DEFAULT, Mapping, parse_mapping
from polygym.compiler.poly.spaces.polyhedra import Limits
from polygym.episodes.episode import TaskOptions
from polygym.episodes.kernels import Source, Subject, subject
from polygym.errors import InputError
from polygym.measure.evaluation import EvaluationOptions
from polygym.search.sweep.references import SEEDS

FORMAT = "polygym sweep"
VERSION = 2

_LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True, slots=True)
class SweepSetting:
    """Schedules are explored at ``search_dataset``; the best are confirmed at ``dataset``.

    ``seeds`` are orders with which every policy begins, before it makes choices of its own.
    """

    seed: int = 0
    search_dataset: Dataset = Dataset.MEDIUM
    dataset: Dataset = Dataset.LARGE
    threads: int = 1
    timeout_factor: float = 10.0
    mapping: Mapping = DEFAULT
    options: TaskOptions = field(default_factory=TaskOptions)
    compile_seconds: float = 5.0
    seeds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what nothing can be measured with."""
        if not 0 <= self.seed <= _LARGEST_SEED:
            raise InputError(f"a seed: expected 0 to {_LARGEST_SEED}, found {self.seed}")
        if unknown := [name for name in self.seeds if name not in SEEDS]:
            raise InputError(f"seeds: expected {' or '.join(SEEDS)}, found {unknown[0]!r}")
        _ = self.measuring

    @property
    def measuring(self) -> EvaluationOptions:
        """How schedules are judged."""
        return EvaluationOptions(
            threads=self.threads,
            timeout_factor=self.timeout_factor,
            compile_seconds=self.compile_seconds,
            mapping=self.mapping,
        )

    def subject(self, kernel: str, dataset: Dataset) -> Subject:
        """Return a program at a size, with its processes."""
        return subject(Source(kernel, None, dataset, ()), self.options)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; :func:`setting_from_json` reads it back."""
        limits = self.options.limits
        return {
            "format": FORMAT,
            "version": VERSION,
            "seed": self.seed,
            "search_dataset": str(self.search_dataset),
            "dataset": str(self.dataset),
            "threads": self.threads,
            "timeout_factor": self.timeout_factor,
            "compile_seconds": self.compile_seconds,
            "seeds": list(self.seeds),
            "mapping": str(self.measuring.mapping),
            "max_coefficient": self.options.max_coefficient,
            "max_dimensions": self.options.max_dimensions,
            "max_rays": limits.rays,
            "max_vertices": limits.vertices,
        }


def setting_from_json(data: dict[str, Any]) -> SweepSetting:
    """Return the setting that :meth:`SweepSetting.to_json` wrote."""
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        raise InputError(
            f"the setting of a sweep: expected {FORMAT!r}, version {VERSION}, found "
            f"{data.get('format')!r}, version {data.get('version')!r}"
        )
    try:
        limits = Limits(rays=data["max_rays"], vertices=data["max_vertices"])
        return SweepSetting(
            data["seed"],
            Dataset.parse(data["search_dataset"]),
            Dataset.parse(data["dataset"]),
            data["threads"],
            data["timeout_factor"],
            parse_mapping(data["mapping"]),
            TaskOptions(data["max_coefficient"], data["max_dimensions"], limits),
            data["compile_seconds"],
            tuple(data["seeds"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "the setting of a sweep: expected what polygym sweep writes, found something else "
            f"({type(error).__name__}: {error})"
        ) from None
