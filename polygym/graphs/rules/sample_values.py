"""Arrays for the variables of a rule, and what its sides make of them.

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

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from polygym.graphs.ir.reference import evaluate_node
from polygym.graphs.operators.definition import Array, GraphOperator, Value
from polygym.graphs.operators.registry import OPERATORS
from polygym.graphs.operators.types import Data, NumberData, TensorPair, TensorType, TextData
from polygym.rewrite.rule import Rule
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


def _with_boundary_values(found: Array, rng: np.random.Generator, borders: list[float]) -> Array:
    """Replace a third of the elements by numbers around the borders, if there are any."""
    if not borders:
        return found
    factors = rng.choice([1.0, 1.0, 2.0, 16.0], found.shape)
    chosen = rng.choice(borders, found.shape) * factors + rng.integers(-1, 2, found.shape)
    return np.where(rng.random(found.shape) < 0.3, chosen, found)
