"""Encoding of evaluation jobs, program and conditions, as JSON and back."""

from dataclasses import replace

from polybench import Dataset
from polygym.mdp.problems.loading import ProgramSource
from polygym.poly.transform.splitting.conditions import parse_splitting
from polygym.poly.transform.storage.plan import parse_storage
from polygym.runtime.evaluation import EvaluationOptions
from polygym.search.conditions import evaluation_options_from_json, evaluation_options_json
from polygym.search.runner.ray.fleet.jobs import Json


def source_json(source: ProgramSource) -> Json:
    """Return all of a source but its target, which may be another path on a node."""
    return {
        "function": source.function,
        "dataset": str(source.dataset),
        "parameters": [list(parameter) for parameter in source.parameters],
        "splitting": str(source.splitting),
        "storage": str(source.storage),
    }


def source_from_json(target: str, data: Json) -> ProgramSource:
    """Return the source that :func:`source_json` wrote, of a target."""
    return ProgramSource(
        target,
        data["function"],
        Dataset.parse(data["dataset"]),
        tuple((str(name), int(value)) for name, value in data["parameters"]),
        parse_splitting(data["splitting"]),
        parse_storage(data["storage"]),
    )


def options_json(options: EvaluationOptions) -> Json:
    """Return how schedules are judged."""
    return {**evaluation_options_json(options), "compile_memory": options.compile_memory}


def options_from_json(data: Json) -> EvaluationOptions:
    """Return what :func:`options_json` wrote."""
    return replace(evaluation_options_from_json(data), compile_memory=data["compile_memory"])
