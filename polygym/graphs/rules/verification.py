"""Verification: a rule is applied to instances of every kind, and both sides must be equal.

Instances cover all literals and pairs of them, ranks up to 5, extents that are equal, different and
1, kernels of odd and even size, groups, and every padding; on each, random points in exact
arithmetic. That is a check on samples, not a proof for
all sizes: what it accepts is equal on every class of shapes that was met, and on each with all but
vanishing probability for all values. What it refuses comes with numbers that show it.

Where conditions do not hold, or a target makes no sense, a rule does not fire, so that such cases
say nothing; a rule that fires nowhere is refused as well.

Arrays for the variables of a rule, and what its sides make of them.

Three kinds of points are tried. *Integers*, small and of both signs, zero among them: sums,
products, relu and pools of the largest are exact on them in float64, and polynomials that agree on
random ones agree. *Sixteenths* of both signs around zero, just as exact: what holds on integers
need not hold between them (x + x² is never negative on integers, and is at -1/2). *Reals* where a
rule has a function that is neither: analytic functions that agree on random points of an open set
agree on all that is connected with it, and relu or the largest have finitely many pieces, each of
which random points fall into. Numbers that the rule itself names, such as the bounds of a ``clip``,
are borders: values beyond each of them are among the points, and numbers of every size.
Logarithms, roots, quotients and powers are looked at on positive numbers too.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.ir.reference import evaluate_node
from polygym.graphs.operators.definition import Array, GraphOperator, Value
from polygym.graphs.operators.registry import OPERATORS
from polygym.graphs.operators.types import Data, NumberData, TensorPair, TensorType, TextData
from polygym.graphs.rules.instances import (
    RuleInstance,
    infer_patterns,
    instances,
    sample_instance,
    variable_kinds,
)
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.rule import Rule, check_rule_terms
from polygym.rewrite.s_expressions import term_text
from polygym.rewrite.term import Term, is_variable, postorder

_MAX_EXACT = float(2**53)


def is_exact_on_integers(rule: Rule) -> bool:
    """Whether both sides are exact on integers."""
    return not any(operator.is_inexact for operator in _operators(_heads(rule)))


def sample_points(
    rule: Rule, binding: dict[str, Data], seed: list[int], rounds: int
) -> Iterator[dict[str, Value]]:
    """Yield values for the variables, as many times as said, of each kind that the rule needs."""
    heads = _heads(rule) | {data.value for data in binding.values() if isinstance(data, TextData)}
    operators, bounded = _operators(heads), "clip" in heads
    borders = _boundary_values(rule, bounded) + [
        data.value
        for data in binding.values()
        if isinstance(data, NumberData) and (bounded or isinstance(data.value, float))
    ]
    rng = np.random.default_rng(seed)
    for largest in (1, 2, 4) if "gather" in heads else (0,) * rounds:
        kinds = [_small_integers, _sixteenths]
        if bounded:
            kinds.append(_wide_range)
        if any(operator.is_inexact for operator in operators):
            kinds.append(_reals)
        if any(operator.needs_positive for operator in operators):
            kinds += [_positive, _half_integers]
        for kind in kinds:
            yield {
                name: _sample_value(data, rng, borders, kind, largest)
                for name, data in binding.items()
            }


def evaluate_patterns(
    roots: tuple[Term, ...], data: dict[Term, Data], values: dict[str, Value], made: dict[Term, Any]
) -> list[Any]:
    """Return what patterns are worth; ``made`` keeps the value of every node."""
    with np.errstate(all="ignore"):
        for term in postorder(roots):
            if term in made:
                continue
            literal = data[term]
            if is_variable(term):
                made[term] = values[str(term.head)]
            elif isinstance(literal, NumberData | TextData):
                made[term] = literal.value
            else:
                arguments = tuple(made[child] for child in term.children)
                made[term] = evaluate_node(term.head, arguments)
    return [made[root] for root in roots]


def first_difference(left: Array, right: Array, exact: bool) -> tuple[int, ...] | None:
    """Return the first place where two arrays of one shape differ, if there is one.

    Where functions are inexact, by more than rounding; what is no number equals itself alone.
    """
    array, other = np.asarray(left, np.float64), np.asarray(right, np.float64)
    with np.errstate(all="ignore"):
        if exact and np.abs(array).max(initial=0) < _MAX_EXACT:
            same = array == other
        else:
            scale = np.abs(array[np.isfinite(array)]).max(initial=1)
            same = np.isclose(array, other, rtol=1e-9, atol=1e-12 * scale, equal_nan=True)
    if same.all():
        return None
    return tuple(int(axis) for axis in np.argwhere(~same)[0])


@lru_cache(maxsize=256)
def _heads(rule: Rule) -> frozenset[Any]:
    return frozenset(term.head for term in postorder((*rule.sources, *rule.targets)))


def _operators(heads: frozenset[Any]) -> list[GraphOperator]:
    """Return the operators among heads; activations are literals of their names."""
    return [OPERATORS[head] for head in heads if head in OPERATORS]


@lru_cache(maxsize=256)
def _boundary_values(rule: Rule, bounded: bool) -> list[float]:
    """Return the numbers that a rule itself names; whole ones where some may be bounds."""
    kinds = (int, float) if bounded else float
    every = postorder((*rule.sources, *rule.targets, *rule.conditions))
    return [float(term.head) for term in every if isinstance(term.head, kinds)]


def _small_integers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(rng.integers(-9, 10, shape), np.float64)


def _sixteenths(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    # Products of eight of them, and sums of thousands of these, are exact in float64.
    return np.asarray(rng.integers(-20, 21, shape) / 16)


def _wide_range(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    # Of every size, since bounds may be: one beyond all numbers that are tried seems to be none.
    return np.asarray(rng.integers(-9, 10, shape) * 10.0 ** rng.integers(0, 9, shape))


def _reals(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    # Multiples of 1/1024, which are elements of every floating type.
    return np.asarray(rng.integers(-1536, 1537, shape) / 1024)


def _positive(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(rng.uniform(0.1, 1.5, shape))


def _half_integers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(rng.integers(-4, 5, shape) / 2)


def _sample_value(
    data: Data,
    rng: np.random.Generator,
    borders: list[float],
    kind: Callable[[np.random.Generator, tuple[int, ...]], Array],
    largest: int,
) -> Value:
    """Return a literal, or arrays of one kind; integers are indices below a largest, if any."""
    if isinstance(data, NumberData | TextData):
        return data.value
    if isinstance(data, TensorPair):
        parts = (data.first, data.second)
        return tuple(_with_boundary_values(kind(rng, part.shape), rng, borders) for part in parts)
    assert isinstance(data, TensorType)
    if data.dtype.startswith("int"):
        low, high = (0, largest) if largest else (-9, 10)
        return np.asarray(rng.integers(low, high, data.shape))
    return _with_boundary_values(kind(rng, data.shape), rng, borders)


def _with_boundary_values(array: Array, rng: np.random.Generator, borders: list[float]) -> Array:
    """Replace a third of the elements by numbers around the borders, if there are any."""
    if not borders:
        return array
    factors = rng.choice([1.0, 1.0, 2.0, 16.0], array.shape)
    chosen = rng.choice(borders, array.shape) * factors + rng.integers(-1, 2, array.shape)
    return np.where(rng.random(array.shape) < 0.3, chosen, array)


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
        isinstance(value, TextData) and value.value in ("tanh", "sigmoid", "gelu")
        for value in instance.binding.values()
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


def _shrink(rule: Rule, example: GraphRuleCounterexample, seed: int) -> GraphRuleCounterexample:
    """Return a counterexample of fewer numbers, if some are met soon."""
    rng = random.Random(seed)
    literals: dict[str, Data] = {
        name: data
        for name, data in example.binding.items()
        if isinstance(data, NumberData | TextData)
    }
    for number in range(80):
        instance = sample_instance(rule, rng, literals if number % 2 else {}, 5)
        if instance is None or _size(instance.binding) >= _size(example.binding):
            continue
        other = check_instance(rule, instance, seed, number)
        if isinstance(other, GraphRuleCounterexample):
            example = other
    return example


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
