"""The command line that goes on with a search, for users to copy."""

import shlex
from dataclasses import replace
from pathlib import Path

from polybench import Dataset
from polygym.cost.models.cost_model import Acquisition, ModelKind
from polygym.mdp.task_options import TaskOptions
from polygym.poly.scheduling.strategy import AUTO
from polygym.poly.transform.storage.plan import SOURCE_STORAGE
from polygym.runtime.evaluation import EvaluationOptions
from polygym.search.settings import SearchSetting
from polygym.search.strategies.registry import STRATEGIES
from polygym.search.strategies.samplers import DEFAULT_STRATEGY


def resume_command(setting: SearchSetting, plot: bool, folder: Path) -> str:
    """Return the command with which a search is resumed; defaults are left out."""
    source, options, evaluation = setting.source, setting.options, setting.evaluation
    plan, models, entry = setting.plan, setting.plan.model_options, STRATEGIES[setting.strategy]
    usual, usual_evaluation = TaskOptions(), EvaluationOptions()
    words = ["polygym", "optimize", _shown(source.target)]
    if source.function is not None:
        words += ["--function", source.function]
    if source.dataset is not Dataset.LARGE:
        words += ["--dataset", source.dataset.name.lower()]
    for name, value in source.parameters:
        words += ["-p", f"{name}={value}"]
    if source.splitting.statements:
        words += ["--split", str(source.splitting)]
    kind = models.kind.value if models.kind is not ModelKind.TREES else ""
    given: tuple[tuple[str, object, object], ...] = (
        ("--storage", source.storage, SOURCE_STORAGE),
        ("--strategy", setting.strategy, DEFAULT_STRATEGY),
        ("--schedule", "fixed" if plan.is_fixed else "free", "free"),
        ("--from", plan.schedule, AUTO),
        ("--model", _shown(models.model.file) or kind, ""),
        ("--acquisition", models.acquisition.value, Acquisition.MEAN.value),
        ("--population", plan.population if "population" in entry.options else 100, 100),
        ("--seed", setting.seed, 0),
        ("--threads", evaluation.threads, usual_evaluation.threads),
        ("--mapping", replace(evaluation.mapping, threads=1), usual_evaluation.mapping),
        ("--timeout-factor", evaluation.timeout_factor, usual_evaluation.timeout_factor),
        ("--max-coefficient", options.max_coefficient, usual.max_coefficient),
        ("--max-dimensions", options.max_dimensions, usual.max_dimensions),
        ("--max-rays", options.limits.rays, usual.limits.rays),
    )
    for option, found, default in given:
        if found != default:
            words += [option, str(found)]
    words += ["--budget", str(plan.budget)]
    if plan.mapping_budget:
        words += ["--mapping-budget", str(plan.mapping_budget)]
    if plan.time_limit is not None:
        words += ["--time-limit", f"{plan.time_limit:g}s"]
    words += ["--out", _shown(str(folder)), "--resume"]
    return shlex.join([*words, "--plot"] if plot else words)


def _shown(path: str) -> str:
    """Return a path as it is written from the working directory, where that is shorter."""
    here = f"{Path.cwd()}/"
    return path.removeprefix(here) if path.startswith(here) else path
