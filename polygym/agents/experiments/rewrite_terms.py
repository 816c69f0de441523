"""Experiments on terms: what may stand in a file for ``polygym/Rewrite-v0``.

    polygym/Rewrite-v0:
      algorithm: knossos
      kernels: train                 # sets of the library, files, or terms
      arguments:
        rules: simple                # all the rules there are
        max_steps: 10                # of a derivation
      hyperparameters:               # polygym.agents.experiments.options.KnossosOptions
        states: 1500
      steps: 10                      # epochs of each seed
      evaluation:
        kernels: test
      seeds: [0]

What is trained is no policy that acts in the environment, but the value function that its searches
use; so there are no wrappers, and a program is evaluated by one search.
"""

from dataclasses import fields

from polygym.agents.experiments.document_entries import DocumentEntry
from polygym.agents.experiments.experiment import KNOSSOS, Experiment
from polygym.agents.experiments.options import KnossosOptions
from polygym.errors import InputError
from polygym.search.planning import ALGORITHMS, PlanningLimits
from polygym.terms.envs.records import ENVIRONMENT as REWRITE
from polygym.terms.envs.rewrite import programs_named
from polygym.terms.language.program import TermProgram
from polygym.terms.learning.graph_encoding import expect_width
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.whole_programs.program_system import SPACES

__all__ = [
    "REWRITE",
    "check_rewrite_experiment",
    "programs_of_selection",
    "rule_set_of",
    "search_plan_of",
]

_ARGUMENTS = ("rules", "max_steps")


def programs_of_selection(selection: str) -> tuple[TermProgram, ...]:
    """Return the programs of a selection: sets, files and terms, with commas between.

    Raises:
        InputError: there are none of that name.
    """
    return programs_named([name.strip() for name in selection.split(",")])


def rule_set_of(experiment: Experiment) -> str:
    """Return the name of the set of all rules."""
    return str(experiment.arguments.get("rules", "simple"))


def search_plan_of(experiment: Experiment, states: int) -> PlanningLimits:
    """Return how far searches go, with so many states."""
    options = KnossosOptions(**experiment.hyperparameters)
    return PlanningLimits(experiment.arguments.get("max_steps", 10), states, options.search_batch)


def check_rewrite_experiment(experiment: Experiment, at: DocumentEntry) -> None:
    """Refuse entries that make no sense for terms.

    Raises:
        InputError: says which one.
    """
    for name, value, expected in (
        ("algorithm", experiment.algorithm, KNOSSOS),
        ("wrappers", list(experiment.wrappers), []),
        ("teacher", experiment.teacher, ""),
        ("evaluation.episodes", experiment.evaluation.episodes, 1),
    ):
        if value != expected:
            raise at.child(name).error(f"{expected!r} for {experiment.environment}", value)
    at.child("arguments").mapping(experiment.arguments, _ARGUMENTS)
    _check_hyperparameters(experiment, at.child("hyperparameters"))
    try:
        rules_named(rule_set_of(experiment))
        search_plan_of(experiment, 1)
    except InputError as error:
        raise InputError(f"{at.child('arguments')}: {error}") from None


def _check_hyperparameters(experiment: Experiment, at: DocumentEntry) -> None:
    usually = {field.name: field.default for field in fields(KnossosOptions)}
    for name, value in at.mapping(experiment.hyperparameters, list(usually)).items():
        kind = type(usually[name])
        if isinstance(value, bool) or not isinstance(
            value, (int, float) if kind is float else kind
        ):
            raise at.child(name).error(f"a value such as {usually[name]}", value)
    try:
        options = KnossosOptions(**experiment.hyperparameters)
        if options.first_rules:
            rules_named(options.first_rules)
        expect_width(options.width)
    except InputError as error:
        raise InputError(f"{at}: {error}") from None
    for name in ("search", "evaluation_search"):
        at.child(name).one_of(getattr(options, name), list(ALGORITHMS))
    at.child("space").one_of(options.space, list(SPACES))
