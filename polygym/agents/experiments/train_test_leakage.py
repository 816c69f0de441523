"""Leakage between training and test: test kernels that a training learns from.

What an agent does on a kernel that it was trained on says nothing about programs that it has never
seen. So a training that learns from one of the ten kernels for tests, or from a program that does
what one of them does (:mod:`polygym.search.corpus.program_choice`), says so when it begins and
keeps it in ``model.json``, and a caller that evaluates the model says it again beside the numbers.

Programs of the held-out split (``splits.yaml``) are refused: no training learns from one.

Example: ``kernels: mvt, syr2k`` leaves ``"test_kernels": ["syr2k"]``, and so does ``kernels: mvt,
mine.c`` where mine.c has the loops of syr2k; ``kernels: mvt`` leaves ``[]``. Cloning leaves
``[]`` whatever its kernels are: it takes no demonstrations of such programs.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from polygym.agents.experiments.environments import make_env
from polygym.agents.experiments.experiment import SATURATE, Experiment
from polygym.agents.experiments.rewrite_terms import REWRITE
from polygym.agents.experiments.splits import selected_kernels, split_part
from polygym.agents.policies.env_policy import inner_env
from polygym.errors import InputError, PolygymError
from polygym.mdp.problems.loading import load_problem
from polygym.programs.selection import is_reserved_for_tests
from polygym.search.corpus.program_choice import TEST_KERNELS, equivalent_kernels

TEST_KERNELS_KEY = "test_kernels"
"""Of ``model.json``."""


def learned_from(experiment: Experiment) -> tuple[str, ...]:
    """Return the kernels for tests that a training learns from, and those of its initial models.

    Raises:
        PolygymError: a program cannot be read.
    """
    result: set[str] = set()
    if experiment.initial:
        files = map(experiment.initial_file, experiment.seeds)
        result.update(test_kernels_of_models(experiment, dict(enumerate(filter(None, files)))))
    if _learns_from_its_kernels(experiment):
        result.update(test_kernels_among(experiment, selected_kernels(experiment.kernels)))
    return _in_order(result)


def expect_no_held_out_programs(experiment: Experiment) -> None:
    """Refuse a training that learns from the held-out split, or chooses its best network by it.

    Raises:
        InputError: one of its programs is of that split.
    """
    if experiment.environment in (REWRITE, SATURATE):
        return
    for selection in filter(None, (experiment.kernels, experiment.evaluation.kernels)):
        for name in filter(is_reserved_for_tests, selected_kernels(selection)):
            raise InputError(
                f"{name}: expected a program to train with, found one of the held-out split, which "
                "is for the evaluation of trained agents"
            )


def test_kernels_among(experiment: Experiment, kernels: Iterable[str]) -> tuple[str, ...]:
    """Return the kernels for tests that stand among kernels and files, or do what one of them does.

    A program out of isl's reach counts as none.

    Raises:
        PolygymError: a program cannot be read.
    """
    result: set[str] = set()
    for kernel in kernels:
        result.update(_equivalent_test_kernels(experiment, kernel))
    return _in_order(result)


def test_kernels_of_models(experiment: Experiment, models: Mapping[int, Path]) -> tuple[str, ...]:
    """Return the kernels for tests that models have learned from, by what stands beside them.

    Where nothing stands beside a model, the names of its kernels count.

    Raises:
        InputError: what stands there cannot be read.
    """
    result: set[str] = set()
    for model in models.values():
        result.update(_recorded_test_kernels(experiment, model.with_name("model.json")))
    return _in_order(result)


def leakage_warning(seen: Sequence[str]) -> str:
    """Return what is said when a training begins that learns from kernels for tests."""
    return (
        f"this training learns from kernels for tests, or programs that do the same: "
        f"{', '.join(seen)}; the model says so, and a caller that evaluates it on them"
    )


def leakage_note(agent: str, seen: Sequence[str]) -> str:
    """Return what is said below a table of an agent that has seen kernels in it."""
    return (
        f"{agent} has learned from {', '.join(seen)}: what it does there says nothing about "
        "programs that it has never seen"
    )


def _learns_from_its_kernels(experiment: Experiment) -> bool:
    is_of_programs = experiment.environment not in (REWRITE, SATURATE)
    return is_of_programs and experiment.algorithm != "cloning"


def _equivalent_test_kernels(experiment: Experiment, kernel: str) -> tuple[str, ...]:
    if kernel in TEST_KERNELS:
        return (kernel,)
    if kernel in split_part("train") and not experiment.arguments.get("function"):
        return ()  # tests look at all of these
    env = make_env(experiment, kernel)
    subject = inner_env(env).problem_of(kernel)
    load_problem(subject)
    try:
        return equivalent_kernels(kernel, subject.program)
    except PolygymError:
        return ()


def _recorded_test_kernels(experiment: Experiment, file: Path) -> Sequence[str]:
    try:
        about = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file}: expected what a model is, found: {error}") from None
    if not isinstance(about, Mapping):
        raise InputError(f"{file}: expected entries by their names, found {about!r:.60}")
    if not about:
        names = selected_kernels(experiment.kernels) if _learns_from_its_kernels(experiment) else ()
        return [name for name in names if name in TEST_KERNELS]
    seen = about.get(TEST_KERNELS_KEY)
    if not isinstance(seen, list) or not all(kernel in TEST_KERNELS for kernel in seen):
        raise InputError(
            f"{file}: {TEST_KERNELS_KEY}: expected some of {', '.join(TEST_KERNELS)}, found "
            f"{seen!r:.60}"
        )
    return seen


def _in_order(kernels: set[str]) -> tuple[str, ...]:
    return tuple(literal for literal in TEST_KERNELS if literal in kernels)
