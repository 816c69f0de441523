"""Settings that fix a sweep's outcomes: seed, sizes, threads, mapping, size of the processes.

A store belongs to one setting: a sweep with another one is refused there, since its numbers would
not belong together. How much is explored (kernels, policies, budget, time) is no part of it: a
sweep may be continued with more of each.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from polybench import Dataset
from polygym.autoschedule.program_recipes import UNCHANGED, ProgramRecipe, recipe_from_json
from polygym.errors import InputError
from polygym.mapping.mapping import Mapping
from polygym.mdp.problems.loading import ProgramSource, ScheduleProblem, problem_of
from polygym.pickling import pickle_by_name
from polygym.poly.transform.splitting.conditions import parse_splitting
from polygym.poly.transform.storage.plan import parse_storage
from polygym.programs.selection import function_for
from polygym.search.conditions import SearchConditions, conditions_from_json
from polygym.search.sweep.references import INITIAL_SCHEDULES
from polygym.search.sweep.rows import ProgramVariant

FORMAT = "polygym sweep"
VERSION = 3


@pickle_by_name
@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSetting(SearchConditions):
    """Schedules are explored at ``search_dataset``; the best are confirmed at ``dataset``.

    ``initial_schedules`` are orders with which every policy begins, before it makes choices of its
    own. ``recipe`` says how programs are changed before. ``function`` chooses the region of every
    file, with the sizes that are given beside it.
    """

    search_dataset: Dataset = Dataset.MEDIUM
    dataset: Dataset = Dataset.LARGE
    initial_schedules: tuple[str, ...] = ()
    recipe: ProgramRecipe = UNCHANGED
    function: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be searched with."""
        super(SweepSetting, self).__post_init__()
        if unknown := [name for name in self.initial_schedules if name not in INITIAL_SCHEDULES]:
            raise InputError(
                f"initial schedules: expected {' or '.join(INITIAL_SCHEDULES)}, "
                f"found {unknown[0]!r}"
            )

    def subject(
        self, kernel: str, dataset: Dataset, variant: ProgramVariant | None = None
    ) -> ScheduleProblem:
        """Return a program at a size, with its processes.

        It is changed as ``variant`` says, or by the recipe, as at the larger size.
        """
        source = ProgramSource(kernel, function_for(kernel, self.function), self.dataset, ())
        if variant is None:
            source = apply_recipe(source, self.recipe, self.evaluation.mapping)
        else:
            cuts, plan = parse_splitting(variant.splitting), parse_storage(variant.storage)
            source = replace(source, splitting=cuts, storage=plan)
        return problem_of(replace(source, dataset=dataset), self.options)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; :func:`sweep_setting_from_json` reads it back."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "search_dataset": str(self.search_dataset),
            "dataset": str(self.dataset),
            "initial_schedules": list(self.initial_schedules),
            **self.conditions_json(),
            **self.recipe.to_json(),
            **({} if self.function is None else {"function": self.function}),
        }


@lru_cache(maxsize=64)
def apply_recipe(source: ProgramSource, recipe: ProgramRecipe, mapping: Mapping) -> ProgramSource:
    """Return what loads a program that is changed by a recipe; it is found out now."""
    if recipe.changes_nothing:
        return source
    program = recipe.apply(source.load(), mapping)
    return replace(source, splitting=program.splitting, storage=program.storage)


def sweep_setting_from_json(data: dict[str, Any]) -> SweepSetting:
    """Return the setting that :meth:`SweepSetting.to_json` wrote."""
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        raise InputError(
            f"the setting of a sweep: expected {FORMAT!r}, version {VERSION}, found "
            f"{data.get('format')!r}, version {data.get('version')!r}"
        )
    try:
        return SweepSetting(
            search_dataset=Dataset.parse(data["search_dataset"]),
            dataset=Dataset.parse(data["dataset"]),
            initial_schedules=tuple(data["initial_schedules"]),
            recipe=recipe_from_json(data),
            function=None if data.get("function") is None else str(data["function"]),
            **conditions_from_json(data),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "the setting of a sweep: expected what polygym sweep writes, found something else "
            f"({type(error).__name__}: {error})"
        ) from None
