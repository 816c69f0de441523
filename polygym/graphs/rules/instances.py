"""Instances of a rule: data for its variables for which the sources make sense, conditions hold.

Some are asked for one by one with some variables pinned, so that every literal, and every pair of
literals, is met where it is admissible; the others are random.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Any

from polygym.errors import InputError
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.operators.registry import operator_named
from polygym.graphs.operators.types import DTYPES, Data, NumberData, TensorType, TextData
from polygym.graphs.rules.shape_proposals import bind_operands
from polygym.graphs.rules.variable_binding import LITERAL_CHOICES, VariableBinder, literal_data
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.rule import Rule
from polygym.rewrite.s_expressions import term_text
from polygym.rewrite.term import Term, is_variable, postorder, variable_names

_ATTEMPTS = 60
"""How often data are made before an instance is given up."""

_REPEATS = 4
"""How often an instance is yielded."""

_DEFAULT_MAX, _LARGEST_NAMED = 16, 128
"""Extents are tried that a rule names, and those beside them, up to the larger of these."""

_MAX_ELEMENTS = 40_000
"""How many numbers there may be, times the largest extent, where that is more than usual."""

_AT_BORDERS = 12
"""How often each literal is tried of which conditions speak: they may hold for few of them."""

_FAILURES = 50
"""How many instances are given up, if there was none, before a rule is."""


@dataclass(frozen=True, slots=True)
class RuleInstance:
    """What every variable is, and what that makes of every node of the sources."""

    binding: dict[str, Data]
    data: dict[Term, Data]


def infer_patterns(
    roots: tuple[Term, ...], binding: dict[str, Data], known: dict[Term, Data] | None = None
) -> dict[Term, Data]:
    """Return what every node of patterns is, computed literals among them.

    Raises:
        Inadmissible: one makes no sense.
    """
    datas: dict[Term, Data] = dict(known or {})
    for term in postorder(roots):
        if term in datas:
            continue
        if is_variable(term):
            datas[term] = binding[str(term.head)]
            continue
        children = tuple(datas[child] for child in term.children)
        if children and isinstance(term.head, str) and term.head.startswith("="):
            datas[term] = literal_data(TENSOR_DOMAIN.compute(term.head[1:], children))
        else:
            datas[term] = TENSOR_DOMAIN.infer(term.head, children)
    return datas


def variable_kinds(rule: Rule) -> dict[str, tuple[str, str]]:
    """Return the kind of every variable (N, S, T or P) and the argument that it first stands for.

    Raises:
        InputError: a variable stands for two kinds, or the rule names an input or a weight.
    """
    result: dict[str, tuple[str, str]] = {}
    for term in postorder((*rule.sources, *rule.targets)):
        if not term.children or str(term.head).startswith("="):
            continue
        if term.head in ("input", "weight"):
            raise InputError(f"rule {rule.name}: expected variables, found {term_text(term)}")
        try:
            takes = operator_named(term.head).parameters_of(len(term.children))
        except Inadmissible as error:
            raise InputError(f"rule {rule.name}: {error}") from None
        if len(takes) != len(term.children):
            raise InputError(
                f"rule {rule.name}: expected {len(takes)} arguments of {term.head} "
                f"({' '.join(name for name, _ in takes)}), found {term_text(term)}"
            )
        for (name, kind), child in zip(takes, term.children, strict=True):
            if is_variable(child):
                known = result.setdefault(str(child.head), (kind, name))
                if (known[0] in "NS") != (kind in "NS") or (known[0] == "P") != (kind == "P"):
                    raise InputError(
                        f"rule {rule.name}: expected {child.head} to be one thing, found it as "
                        f"{known[1]} and as {name}"
                    )
    return result


def instances(rule: Rule, seed: int, count: int) -> Iterator[RuleInstance]:
    """Yield instances: of every literal, of every pair of them, and at random, at least so many.

    None is yielded more than a few times (with other numbers it may tell more), so that there may
    be fewer.
    """
    rng = random.Random(f"{seed} {rule.name}")
    literals = _literals(rule)
    singles = [{name: value} for name, values in literals.items() for value in values]
    pairs = [
        {**one, **other}
        for one, other in combinations(singles, 2)
        if one.keys().isdisjoint(other.keys())
    ]
    rng.shuffle(pairs)
    pins = singles + pairs[:count]
    rng.shuffle(pins)
    seen: Counter[Any] = Counter()
    failed = 0
    conditioned = set(variable_names(rule.conditions))
    often = [
        datas for datas in singles for _ in range(_AT_BORDERS) if conditioned.issuperset(datas)
    ]
    others: list[dict[str, Data]] = [{}] * max(count, 2 * count - len(pins))
    hopeless: set[str] = set()
    for pinned in [{}, *pins, *often, *others]:
        if repr(pinned) in hopeless:
            continue
        instance = sample_instance(rule, rng, pinned, _ATTEMPTS)
        if instance is None and len(pinned) == 1:
            hopeless.add(repr(pinned))
        if instance is None:
            failed += 1
            if failed == _FAILURES and not seen:
                return
            continue
        key = tuple(sorted((name, repr(data)) for name, data in instance.binding.items()))
        if seen[key] < _REPEATS:
            seen[key] += 1
            yield instance


def sample_instance(
    rule: Rule, rng: random.Random, fixed: dict[str, Data], attempts: int
) -> RuleInstance | None:
    """Return an instance with some variables pinned, if random trials give one."""
    roles, extents, dtypes = _rule_hints(rule)
    largest = max(extents, default=0)
    most = _MAX_ELEMENTS / largest if largest > _DEFAULT_MAX + 1 else math.inf
    for _ in range(attempts):
        maker = VariableBinder(rng, fixed, bind_operands, roles, extents, rng.choice(dtypes))
        try:
            for source in rule.sources:
                maker.bind(source, None)
            data = infer_patterns(rule.sources, maker.bound)
        except (Inadmissible, ValueError, IndexError, ZeroDivisionError):
            continue
        if sum(value.elements for value in data.values() if isinstance(value, TensorType)) > most:
            continue
        if conditions_hold(rule, maker.bound, data):
            return RuleInstance(maker.bound, data)
        repaired = _adjust_to_conditions(rule, rng, maker.bound, data)
        if any(repaired.get(name, value) != value for name, value in fixed.items()):
            continue
        try:
            data = infer_patterns(rule.sources, repaired)
        except Inadmissible:
            continue
        if conditions_hold(rule, repaired, data):
            return RuleInstance(repaired, data)
    return None


def _literals(rule: Rule) -> dict[str, list[Data]]:
    """Return what is tried for the variables that stand for literals."""
    datas: dict[str, list[Data]] = {}
    for name, (kind, argument) in variable_kinds(rule).items():
        if kind in "NS" and argument in LITERAL_CHOICES:
            values = list(LITERAL_CHOICES[argument])
            # A number that the conditions name is a border: so are its neighbours.
            for term in postorder(rule.conditions):
                if kind == "N" and isinstance(term.head, int) and not term.children:
                    values += [term.head - 1, term.head, term.head + 1]
                if kind == "S" and isinstance(term.head, str) and not term.children:
                    values += [] if is_variable(term) else [term.head]
            unique = {(value.__class__, value): value for value in values}
            datas[name] = [literal_data(value) for value in unique.values()]
    return datas


@lru_cache(maxsize=256)
def _rule_hints(rule: Rule) -> tuple[dict[str, str], tuple[int, ...], tuple[str, ...]]:
    """Return what tensors stand for, numbers that a rule names or that are beside them, and types.

    Another type of elements than the usual one matters where there is a cast.
    """
    roles = {
        name: argument for name, (kind, argument) in variable_kinds(rule).items() if kind == "T"
    }
    named = {
        term.head
        for term in postorder((*rule.sources, *rule.targets, *rule.conditions))
        if not term.children and isinstance(term.head, int) and 0 < term.head <= _LARGEST_NAMED
    }
    near = {value + step for value in named for step in (-1, 0, 1)}
    heads = {node.head for node in postorder((*rule.sources, *rule.targets))}
    dtypes = tuple(DTYPES) if "cast" in heads else ("float32",)
    return roles, tuple(sorted(near - {0, 1, 2, 3, 4})), dtypes


def conditions_hold(rule: Rule, binding: dict[str, Data], data: dict[Term, Data]) -> bool:
    """Whether the conditions of a rule hold of an instance."""
    for condition in rule.conditions:
        try:
            made = infer_patterns(condition.children, binding, data)
        except Inadmissible:
            return False
        if not TENSOR_DOMAIN.holds(
            str(condition.head), tuple(made[term] for term in condition.children)
        ):
            return False
    return True


def _adjust_to_conditions(
    rule: Rule, rng: random.Random, binding: dict[str, Data], data: dict[Term, Data]
) -> dict[str, Data]:
    """Return a binding changed towards what the conditions ask for, where it is plain how."""
    datas = dict(binding)
    for condition in rule.conditions:
        first = condition.children[0] if condition.children else None
        if first is None or not is_variable(first):
            continue
        name = str(first.head)
        try:
            made = infer_patterns(condition.children, datas)
        except (Inadmissible, KeyError):
            continue
        values = [made[child] for child in condition.children]
        if condition.head == "equal" and isinstance(values[0], NumberData | TextData):
            datas[name] = values[1]
        elif condition.head == "same-shape":
            datas[name] = values[1]
        elif isinstance(values[0], TensorType):
            shape = values[0].shape
            if condition.head == "computed":
                datas[name] = replace(values[0], constant=False)
            elif condition.head == "one-element":
                datas[name] = TensorType((1,) * rng.randrange(5), constant=True)
            elif condition.head == "per-channel":
                channels = rng.choice(_channels(data) or [1])
                lead = rng.choice(((), (1,)))
                datas[name] = TensorType((*lead, channels, 1, 1), constant=True)
            elif condition.head == "rank" and isinstance(values[1], NumberData):
                rank = int(values[1].value)
                shape = (1,) * (rank - len(shape)) + shape[max(len(shape) - rank, 0) :]
                datas[name] = TensorType(shape, constant=True)
    return datas


def _channels(data: dict[Term, Data]) -> list[int]:
    return [
        tensor.shape[1]
        for tensor in data.values()
        if isinstance(tensor, TensorType) and len(tensor.shape) == 4
    ]
