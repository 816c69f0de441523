"""The command line that goes on with a search, for people to copy."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from polybench import Dataset
from polygym.mdp.task_options import TaskOptions
from polygym.poly.transform.storage.plan import SOURCE_STORAGE
from polygym.runtime.evaluation import EvaluationOptions
from polygym.search.driver import SearchExtent
from polygym.search.settings import SearchSetting
from polygym.search.strategies.samplers import DEFAULT_STRATEGY


def resume_command(setting: SearchSetting, extent: SearchExtent, plot: bool, folder: Path) -> str:
    """Return the words with which a search is resumed; what is as usual is left out."""
    source, options, measuring = setting.source, setting.options, setting.evaluation
    usual, usual_measuring = TaskOptions(), EvaluationOptions()
    words = ["polygym", "optimize", _shown(source.target)]
    if source.function is not None:
        words += ["--function", source.function]
    if source.dataset is not Dataset.LARGE:
        words += ["--dataset", source.dataset.name.lower()]
    for name, value in source.parameters:
        words += ["-p", f"{name}={value}"]
    if source.splitting.statements:
        words += ["--split", str(source.splitting)]
    given: tuple[tuple[str, object, object], ...] = (
        ("--storage", source.storage, SOURCE_STORAGE),
        ("--policy", setting.policy, DEFAULT_STRATEGY),
        ("--model", _shown(setting.model.file), ""),
        ("--seed", setting.seed, 0),
        ("--threads", measuring.threads, usual_measuring.threads),
        ("--mapping", replace(measuring.mapping, threads=1), usual_measuring.mapping),
        ("--timeout-factor", measuring.timeout_factor, usual_measuring.timeout_factor),
        ("--max-coefficient", options.max_coefficient, usual.max_coefficient),
        ("--max-dimensions", options.max_dimensions, usual.max_dimensions),
        ("--max-rays", options.limits.rays, usual.limits.rays),
    )
    for option, found, default in given:
        if found != default:
            words += [option, str(found)]
    words += ["--budget", str(extent.budget)]
    if extent.mapping_budget:
        words += ["--tune-mapping", str(extent.mapping_budget)]
    words += ["--out", _shown(str(folder)), "--resume"]
    return shlex.join([*words, "--plot"] if plot else words)


def _shown(path: str) -> str:
    """Return a path as it is written from the working directory, where that is shorter."""
    here = f"{Path.cwd()}/"
    return path.removeprefix(here) if path.startswith(here) else path
