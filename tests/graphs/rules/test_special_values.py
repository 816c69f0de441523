"""NaN goes through both sides of rules alike; bounds and maxima do not swallow it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polygym.graphs.rules import standard_rules
from polygym.graphs.rules.instances import infer_patterns, instances
from polygym.graphs.rules.verification import evaluate_patterns, sample_points
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.rule import Rule
from polygym.rewrite.term import postorder

BOUNDED = {"relu", "maximum", "minimum", "clip", "poolmax", "reduce-max", "leaky-relu", "where"}
PADDED = {"enlarge", "merge"}
"""Zeros in a kernel times NaN are NaN: rules with them hold of finite numbers."""

_INSTANCES = 8


def _heads(rule: Rule) -> set[Any]:
    return {term.head for term in postorder((*rule.sources, *rule.targets))}


RULES = [rule for rule in standard_rules() if _heads(rule) & BOUNDED and not _heads(rule) & PADDED]


def _with_nan(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, tuple):
        return tuple(_with_nan(part, rng) for part in value)
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    return np.where(rng.random(value.shape) < 0.15, np.nan, value)


def test_there_are_such_rules() -> None:
    assert len(RULES) > 20


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_nan_is_kept(rule: Rule) -> None:
    rng, compared = np.random.default_rng(0), 0
    for number, instance in enumerate(instances(rule, 0, _INSTANCES)):
        try:
            data = infer_patterns(rule.targets, instance.binding, instance.data)
        except Inadmissible:
            continue
        for values in sample_points(rule, instance.binding, [0, number], 1):
            made: dict[Any, Any] = {}
            given = {name: _with_nan(value, rng) for name, value in values.items()}
            left = evaluate_patterns(rule.sources, data, given, made)
            right = evaluate_patterns(rule.targets, data, given, made)
            for one, other in zip(left, right, strict=True):
                pairs = zip(
                    *(p if isinstance(p, tuple) else (p,) for p in (one, other)), strict=True
                )
                for array, beside in pairs:
                    np.testing.assert_array_equal(np.isnan(array), np.isnan(beside))
                    compared += 1
    assert compared
