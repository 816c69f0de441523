"""Verification: a rule is applied to instances of every kind, and both sides must be equal.

Instances cover all literals and pairs of them, ranks up to 5, extents that are equal, different and
1, kernels of odd and even size, groups, and every padding; on each, random points in exact
arithmetic (:mod:`polygym.graphs.rules.sample_values`). That is a check on samples, not a proof for
all sizes: what it accepts is equal on every class of shapes that was met, and on each with all but
vanishing probability for all values. What it refuses comes with numbers that show it.

Where conditions do not hold, or a target makes no sense, a rule does not fire, so that such cases
say nothing; a rule that fires nowhere is refused as well.
"""

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.operators.types import Data, NumberData, TensorPair, TensorType, TextData
from polygym.graphs.rules.instances import (
    RuleInstance,
    infer_patterns,
    instances,
    sample_instance,
    variable_kinds,
)
from polygym.graphs.rules.sample_values import (
    evaluate_patterns,
    first_difference,
    is_exact_on_integers,
    sample_points,
)
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.rule import Rule, check_rule_terms
from polygym.rewrite.s_expressions import term_text


@dataclass(frozen=True, slots=True)
class VerifiedRule:
    """A rule held wherever it was tried.

    ``cases`` counts instances on which it fired, ``not_applicable`` those on which a target made no
    sense.
    """

    cases: int
    not_applicable: int


@dataclass(frozen=True, slots=True, eq=False)
class GraphRuleCounterexample:
    """Values for which a source and its target differ: at a place, or in shape."""

    rule: Rule
    binding: dict[str, Data]
    values: dict[str, Any]
    output: int
    position: tuple[int, ...]
    left: float | str
    right: float | str

    @property
    def elements(self) -> int:
        """How many numbers it consists of."""
        return sum(np.size(value) for value in self.values.values())

    def __str__(self) -> str:
        """Say it in words."""
        lines = [
            f"  {name} = {_text(data, self.values.get(name))}"
            for name, data in self.binding.items()
        ]
        where = f" at {list(self.position)}" if self.position else ""
        source, target = (
            term_text(side[self.output]) for side in (self.rule.sources, self.rule.targets)
        )
        return "\n".join(
            [
                f"rule {self.rule.name} is not sound. With",
                *lines,
                f"{source}\n  is {self.left}{where}, and",
                f"{target}\n  is {self.right}",
            ]
        )


def verify_rule(
    rule: Rule, budget: int = 120, seed: int = 0
) -> VerifiedRule | GraphRuleCounterexample:
    """Return how often a rule held, or where it does not.

    Raises:
        InputError: it makes no sense: an operator or a word is unknown, a variable stands for
            different things, or it never fires.
    """
    check_rule_terms([rule], TENSOR_DOMAIN)
    variable_kinds(rule)
    fired = silent = 0
    for number, instance in enumerate(instances(rule, seed, budget)):
        result = check_instance(rule, instance, seed, number)
        if isinstance(result, GraphRuleCounterexample):
            return _shrink(rule, result, seed)
        fired, silent = fired + result, silent + (not result)
    if not fired and not silent:
        raise InputError(
            f"rule {rule.name}: expected shapes for which the sources make sense and the "
            "conditions hold, found none"
        )
    if not fired:
        raise InputError(
            f"rule {rule.name}: expected a target that makes sense where the source does, "
            f"found none among {silent} cases"
        )
    return VerifiedRule(fired, silent)


@lru_cache(maxsize=4096)
def _cached_verdict(rule: Rule, budget: int) -> VerifiedRule | str:
    """Return the same, kept: terms are values, so a rule is its own key."""
    try:
        counterexample = verify_rule(rule, budget)
    except InputError as error:
        return str(error)
    return counterexample if isinstance(counterexample, VerifiedRule) else str(counterexample)


def check_rule(rule: Rule, budget: int = 120) -> VerifiedRule:
    """Return how often a rule held.

    Raises:
        InputError: it does not, or never fires; says for which values.
    """
    result = _cached_verdict(rule, budget)
    if isinstance(result, str):
        raise InputError(result)
    return result


def check_instance(
    rule: Rule, instance: RuleInstance, seed: int, number: int
) -> bool | GraphRuleCounterexample:
    """Return whether the rule fires on an instance, or values for which it must not."""
    try:
        data = infer_patterns(rule.targets, instance.binding, instance.data)
    except Inadmissible:
        return False
    for output, (source, target) in enumerate(zip(rule.sources, rule.targets, strict=True)):
        left, right = (_shapes(data[term]) for term in (source, target))
        if left != right:
            return GraphRuleCounterexample(rule, instance.binding, {}, output, (), left, right)
    exact = is_exact_on_integers(rule) and not any(
        isinstance(one, TextData) and one.value in ("tanh", "sigmoid", "gelu")
        for one in instance.binding.values()
    )
    for values in sample_points(rule, instance.binding, [seed, number], 2):
        made: dict[Any, Any] = {}
        try:
            lefts = evaluate_patterns(rule.sources, data, values, made)
        except IndexError:  # of a gather, so that the source says nothing here
            continue
        try:
            rights = evaluate_patterns(rule.targets, data, values, made)
        except IndexError as error:
            return GraphRuleCounterexample(
                rule, instance.binding, values, 0, (), "a tensor", f"an error: {error}"
            )
        for output, (text_data, other) in enumerate(zip(lefts, rights, strict=True)):
            for left_part, right_part in zip(_parts(text_data), _parts(other), strict=True):
                place = first_difference(left_part, right_part, exact)
                if place is not None:
                    return GraphRuleCounterexample(
                        rule,
                        instance.binding,
                        values,
                        output,
                        place,
                        float(left_part[place]),
                        float(right_part[place]),
                    )
    return True


def _shrink(rule: Rule, found: GraphRuleCounterexample, seed: int) -> GraphRuleCounterexample:
    """Return a counterexample of fewer numbers, if some are met soon."""
    rng = random.Random(seed)
    literals: dict[str, Data] = {
        name: data
        for name, data in found.binding.items()
        if isinstance(data, NumberData | TextData)
    }
    for number in range(80):
        instance = sample_instance(rule, rng, literals if number % 2 else {}, 5)
        if instance is None or _size(instance.binding) >= _size(found.binding):
            continue
        other = check_instance(rule, instance, seed, number)
        if isinstance(other, GraphRuleCounterexample):
            found = other
    return found


def _size(binding: dict[str, Data]) -> tuple[int, int]:
    """Return how many numbers there are, and how many literals are not the plain ones."""
    tensors = sum(data.elements for data in binding.values() if isinstance(data, TensorType))
    plain = sum(
        data.value not in ("none", "same", 0, 1)
        for data in binding.values()
        if isinstance(data, NumberData | TextData)
    )
    return tensors, plain


def _shapes(data: Data) -> str:
    parts = (data.first, data.second) if isinstance(data, TensorPair) else (data,)
    return "a tensor of shape " + " and ".join(map(str, parts))


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _text(data: Data, value: Any) -> str:
    if isinstance(data, NumberData | TextData):
        return str(data.value)
    if isinstance(data, TensorPair):
        return f"{data.first} and {data.second}"
    numbers = "" if value is None or np.size(value) > 64 else f": {_numbers(value)}"
    return f"{data}{numbers}"


def _numbers(value: Any) -> str:
    rounded = np.round(np.asarray(value, np.float64), 6)
    whole = bool((rounded == np.round(rounded)).all())
    return str((rounded.astype(np.int64) if whole else rounded).tolist())
