"""Experiments on terms: what may stand in a file for ``polygym/Rewrite-v0``.

    polygym/Rewrite-v0:
      algorithm: knossos
      kernels: train                 # sets of the library, files, or terms
      arguments:
        rules: simple                # all the rules there are
        max_steps: 10                # of a derivation
      hyperparameters:               # agents.legs.options.KnossosOptions
        states: 1500
      steps: 10                      # epochs of each seed
      evaluation:
        kernels: test
      seeds: [0]

What is trained is no policy that acts in the environment, but the value function that its searches
use; so there are no wrappers, and a program is evaluated by one search.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from agents.legs.options import KnossosOptions
from agents.places import Place
from polygym.errors import InputError
from polygym.search.planning import SEARCHES, Plan
from polygym.terms.envs.records import ENVIRONMENT as REWRITE
from polygym.terms.envs.rewrite import programs_named
from polygym.terms.language.program import Program
from polygym.terms.learning.graphs import expect_width
from polygym.terms.rules.sets import rules_named

if TYPE_CHECKING:
    from agents.experiments import Experiment

__all__ = ["GRAPH", "KNOSSOS", "REWRITE", "check_terms", "plan_of", "rules_of", "terms_of"]

KNOSSOS, GRAPH = "knossos", "graph"

_ARGUMENTS = ("rules", "max_steps")


def terms_of(selection: str) -> tuple[Program, ...]:
    """Return the programs of a selection: sets, files and terms, with commas between.

    Raises:
        InputError: there are none of that name.
    """
    return programs_named([one.strip() for one in selection.split(",")])


def rules_of(experiment: Experiment) -> str:
    """Return the name of the set of all rules."""
    return str(experiment.arguments.get("rules", "simple"))


def plan_of(experiment: Experiment, states: int) -> Plan:
    """Return how far searches go, with so many states."""
    options = KnossosOptions(**experiment.hyperparameters)
    return Plan(experiment.arguments.get("max_steps", 10), states, options.search_batch)


def check_terms(found: Experiment, at: Place) -> None:
    """Refuse entries that make no sense for terms.

    Raises:
        InputError: says which one.
    """
    for name, value, expected in (
        ("algorithm", found.algorithm, KNOSSOS),
        ("wrappers", list(found.wrappers), []),
        ("teacher", found.teacher, ""),
        ("evaluation.episodes", found.evaluation.episodes, 1),
    ):
        if value != expected:
            raise at.part(name).wrong(f"{expected!r} for {found.environment}", value)
    at.part("arguments").mapping(found.arguments, _ARGUMENTS)
    _check_hyperparameters(found, at.part("hyperparameters"))
    try:
        rules_named(rules_of(found))
        plan_of(found, 1)
    except InputError as error:
        raise InputError(f"{at.part('arguments')}: {error}") from None


def _check_hyperparameters(found: Experiment, at: Place) -> None:
    usually = {one.name: one.default for one in fields(KnossosOptions)}
    for name, value in at.mapping(found.hyperparameters, list(usually)).items():
        kind = type(usually[name])
        if isinstance(value, bool) or not isinstance(
            value, (int, float) if kind is float else kind
        ):
            raise at.part(name).wrong(f"a value such as {usually[name]}", value)
    try:
        options = KnossosOptions(**found.hyperparameters)
        if options.first_rules:
            rules_named(options.first_rules)
        expect_width(options.width)
    except InputError as error:
        raise InputError(f"{at}: {error}") from None
    for name in ("search", "evaluation_search"):
        at.part(name).one_of(getattr(options, name), list(SEARCHES))
