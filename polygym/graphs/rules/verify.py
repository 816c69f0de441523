"""Verification: a rule is applied to instances of every kind, and both sides must be equal.

Instances cover all literals and pairs of them, ranks up to 5, extents that are equal, different and
1, kernels of odd and even size, groups, and every padding; on each, random points in exact
arithmetic (:mod:`polygym.graphs.rules.values`). That is a check on samples, not a proof for all
sizes: what it accepts is equal on every class of shapes that was met, and on each with all but
vanishing probability for all values. What it refuses comes with numbers that show it.

Where conditions do not hold, or a target makes no sense, a rule does not fire, so that such cases
say nothing; a rule that fires nowhere is refused as well.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.graphs.ir.domain import TENSORS
from polygym.graphs.ir.types import Data, Number, Pair, Tensor, Text
from polygym.graphs.rules.instances import Instance, attempt, data_pass, instances, kinds
from polygym.graphs.rules.values import differ, is_exact, points, values_pass
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.expressions import text_of
from polygym.rewrite.rule import Rule, check_words

__all__ = ["Counterexample", "Verified", "case", "check", "verify"]


@dataclass(frozen=True, slots=True)
class Verified:
    """A rule held wherever it was tried.

    ``cases`` counts instances on which it fired, ``silent`` those on which a target made no sense.
    """

    cases: int
    silent: int


@dataclass(frozen=True, slots=True, eq=False)
class Counterexample:
    """Values for which a source and its target differ: at a place, or in shape."""

    rule: Rule
    binding: dict[str, Data]
    values: dict[str, Any]
    output: int
    place: tuple[int, ...]
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
        where = f" at {list(self.place)}" if self.place else ""
        source, target = (
            text_of(side[self.output]) for side in (self.rule.sources, self.rule.targets)
        )
        return "\n".join(
            [
                f"rule {self.rule.name} is not sound. With",
                *lines,
                f"{source}\n  is {self.left}{where}, and",
                f"{target}\n  is {self.right}",
            ]
        )


def verify(rule: Rule, budget: int = 120, seed: int = 0) -> Verified | Counterexample:
    """Return how often a rule held, or where it does not.

    Raises:
        InputError: it makes no sense: an operator or a word is unknown, a variable stands for
            different things, or it never fires.
    """
    check_words([rule], TENSORS)
    kinds(rule)
    fired = silent = 0
    for number, instance in enumerate(instances(rule, seed, budget)):
        found = case(rule, instance, seed, number)
        if isinstance(found, Counterexample):
            return _smaller(rule, found, seed)
        fired, silent = fired + found, silent + (not found)
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
    return Verified(fired, silent)


@lru_cache(maxsize=4096)
def _answer(rule: Rule, budget: int) -> Verified | str:
    """Return the same, kept: terms are values, so a rule is its own key."""
    try:
        found = verify(rule, budget)
    except InputError as error:
        return str(error)
    return found if isinstance(found, Verified) else str(found)


def check(rule: Rule, budget: int = 120) -> Verified:
    """Return how often a rule held.

    Raises:
        InputError: it does not, or never fires; says for which values.
    """
    found = _answer(rule, budget)
    if isinstance(found, str):
        raise InputError(found)
    return found


def case(rule: Rule, instance: Instance, seed: int, number: int) -> bool | Counterexample:
    """Return whether the rule fires on an instance, or values for which it must not."""
    try:
        data = data_pass(rule.targets, instance.binding, instance.data)
    except Inadmissible:
        return False
    for output, (source, target) in enumerate(zip(rule.sources, rule.targets, strict=True)):
        left, right = (_shapes(data[one]) for one in (source, target))
        if left != right:
            return Counterexample(rule, instance.binding, {}, output, (), left, right)
    exact = is_exact(rule) and not any(
        isinstance(one, Text) and one.value in ("tanh", "sigmoid", "gelu")
        for one in instance.binding.values()
    )
    for values in points(rule, instance.binding, [seed, number], 2):
        made: dict[Any, Any] = {}
        try:
            lefts = values_pass(rule.sources, data, values, made)
        except IndexError:  # of a gather, so that the source says nothing here
            continue
        try:
            rights = values_pass(rule.targets, data, values, made)
        except IndexError as error:
            return Counterexample(
                rule, instance.binding, values, 0, (), "a tensor", f"an error: {error}"
            )
        for output, (one, other) in enumerate(zip(lefts, rights, strict=True)):
            for left_part, right_part in zip(_parts(one), _parts(other), strict=True):
                place = differ(left_part, right_part, exact)
                if place is not None:
                    return Counterexample(
                        rule,
                        instance.binding,
                        values,
                        output,
                        place,
                        float(left_part[place]),
                        float(right_part[place]),
                    )
    return True


def _smaller(rule: Rule, found: Counterexample, seed: int) -> Counterexample:
    """Return a counterexample of fewer numbers, if some are met soon."""
    dice = random.Random(seed)
    literals: dict[str, Data] = {
        name: data for name, data in found.binding.items() if isinstance(data, Number | Text)
    }
    for number in range(80):
        instance = attempt(rule, dice, literals if number % 2 else {}, 5)
        if instance is None or _size(instance.binding) >= _size(found.binding):
            continue
        other = case(rule, instance, seed, number)
        if isinstance(other, Counterexample):
            found = other
    return found


def _size(binding: dict[str, Data]) -> tuple[int, int]:
    """Return how many numbers there are, and how many literals are not the plain ones."""
    tensors = sum(data.elements for data in binding.values() if isinstance(data, Tensor))
    plain = sum(
        data.value not in ("none", "same", 0, 1)
        for data in binding.values()
        if isinstance(data, Number | Text)
    )
    return tensors, plain


def _shapes(data: Data) -> str:
    parts = (data.first, data.second) if isinstance(data, Pair) else (data,)
    return "a tensor of shape " + " and ".join(map(str, parts))


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _text(data: Data, value: Any) -> str:
    if isinstance(data, Number | Text):
        return str(data.value)
    if isinstance(data, Pair):
        return f"{data.first} and {data.second}"
    numbers = "" if value is None or np.size(value) > 64 else f": {_numbers(value)}"
    return f"{data}{numbers}"


def _numbers(value: Any) -> str:
    rounded = np.round(np.asarray(value, np.float64), 6)
    whole = bool((rounded == np.round(rounded)).all())
    return str((rounded.astype(np.int64) if whole else rounded).tolist())
