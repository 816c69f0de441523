"""Whether rules say the truth: tried on random terms and values, and refused with a counterexample.

A rule is sound if, wherever its source has a value and all numbers in it are finite, the target has
the same one up to rounding. The other way round is not asked for: a target may have a value where
the source has none, ``(mul 0.0 a)`` → 0.0 with a infinite, say, or an index outside of a vector.

Metavariables are given types with which the source makes sense, every way that can be found, and
random terms of these types, which have the variables around them in them. Then the rule itself is
applied, conditions, scopes and all, and both sides are evaluated. So a rule that leaves out a side
condition is found out by the terms that the condition would have kept out. What holds on one side
of a number alone mostly names the number: values are drawn from those that the rule has, and from
around them (:func:`special_numbers`).

Integers have 64 bits and go round, and small ones do not tell. So where there are any, the rule is
tried again with some near the ends of their range and near its root, so that sums and products go
round: (div (mul ?a ?b) ?b) → ?a holds of small Integers, and of 2^62 · 4 = 0 not. Rules of
exponentials are tried again with Floats whose exponentials are 0 or infinite. The extents of loops
are often 0, and sometimes below; vectors have different sizes; what is not evaluated in all cases
may have no value. Trying is no proof: what is wrong in rare cases alone may go
unnoticed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from polygym.errors import InputError, LimitError
from polygym.rewrite.term import Term, term
from polygym.terms.language.interpreter import evaluate_term
from polygym.terms.language.nodes import free_variables, term_facts, variable
from polygym.terms.language.operators import IllTypedError
from polygym.terms.language.printer import text_of
from polygym.terms.language.types import BOOL, FLOAT, INTEGER, TupleType, Type, VectorType
from polygym.terms.language.values import Value, is_close, is_regular
from polygym.terms.rules import patterns
from polygym.terms.rules.random_terms import (
    LENGTH,
    SpecialNumbers,
    extent_term,
    partly_needing,
    positive_term,
    random_term,
    random_value,
    term_without_value,
    zero_term,
)
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.rules.rule_types import PatternRule, TermRule, apply_rule

_KINDS: tuple[Type, ...] = (
    FLOAT,
    INTEGER,
    BOOL,
    VectorType(FLOAT),
    TupleType((FLOAT, FLOAT)),
    VectorType(VectorType(FLOAT)),
)
_Typing = tuple[dict[str, Type], dict[str, Type]]

_MOST_TYPINGS = 40
_MOST_TRIED = 30_000
_STEPS = 20_000
_LEAST = 12
_USUAL = 2.0
_MAX_MAGNITUDE = 2.0**62
_WIDE = (
    -1, -2, -3, 2**31, 2**32, 3_037_000_500, -3_037_000_500, 2**62, -(2**62),
    2**63 - 1, 2**63 - 2, -(2**63), 1 - 2**63,
)  # fmt: skip
_STEPS_OF_WIDE = 2_000
_EXPONENTIALS = ("exp", "log", "pow", "sqrt")
_WIDE_FLOATS = ((800.0, -800.0), (400.0, -400.0, -1e200), (1e200, 1e-200))
_OFTEN, _RARELY = 0.3, 0.1


@dataclass(frozen=True, slots=True)
class TermCounterexample:
    """A term, what a rule makes of it, values of the names in it, and what the two then are."""

    rule: PatternRule
    source: Term
    target: Term
    values: tuple[tuple[str, Value], ...]
    expected: Value
    actual: Value

    def __str__(self) -> str:
        """Return a sentence."""
        values = ", ".join(f"{name} = {value}" for name, value in self.values)
        return (
            f"{text_of(self.source)} is {self.expected}, but {text_of(self.target)} is "
            f"{self.actual}" + (f", with {values}" if values else "")
        )


def check_rules(rules: Iterable[TermRule], file: str = "<rules>", seed: int = 0) -> None:
    """Check rules that somebody brings.

    Raises:
        InputError: one is unsound, which a counterexample shows; or it never applies.
    """
    for rule in rules:
        if isinstance(rule, PatternRule):
            counterexample = find_counterexample(rule, seed=seed)
            if counterexample is not None:
                raise InputError(
                    f"{file}: rule {rule.name}: expected both sides to be equal, found that "
                    f"{counterexample}"
                )


def check_unknown(rules: Iterable[TermRule], file: str) -> None:
    """Check those rules that stand in none of the tables that come with polygym.

    Raises:
        InputError: one is unsound, or never applies.
    """
    known = frozenset(rules_named("all"))
    check_rules([rule for rule in rules if rule not in known], file)


def find_counterexample(
    rule: PatternRule, tries: int = 400, seed: int = 0, *, is_equation: bool = False
) -> TermCounterexample | None:
    """Return a case in which a rule changes what is computed; None if none was found.

    Where ``is_equation``, also one in which the target has a value and the source has none: an
    e-graph uses rules both ways.

    Raises:
        InputError: the rule never applied to anything that has a value.
    """
    rng = np.random.default_rng(seed)
    typings = _typings(rule)
    if not typings:
        raise InputError(
            f"rule {rule.name}: expected types of its metavariables with which both sides are "
            f"terms of one type, found none: {rule}"
        )
    special = special_numbers(rule)
    test = partial(_test_rule, rule, tries=tries, rng=rng, is_equation=is_equation)
    answer = test(typings, special=special, steps=_STEPS)
    if not isinstance(answer, TermCounterexample) and answer < _LEAST:
        raise InputError(
            f"rule {rule.name}: expected it to apply to random terms that have values, found "
            f"{answer} cases: {rule}"
        )
    if not isinstance(answer, TermCounterexample):
        whole = [typing for typing in typings if any(INTEGER in kinds.values() for kinds in typing)]
        answer = test(whole, special=(*special, *_WIDE), steps=_STEPS_OF_WIDE)
    if not isinstance(answer, TermCounterexample) and _maybe_unneeded(rule.source):
        answer = test(typings, special=special, steps=_STEPS, is_partial=True)
    for wide in _WIDE_FLOATS if _has_exponentials(rule) else ():
        if not isinstance(answer, TermCounterexample):
            answer = test(typings, special=(*special, *wide), steps=_STEPS_OF_WIDE)
    return answer if isinstance(answer, TermCounterexample) else None


def _has_exponentials(rule: PatternRule) -> bool:
    parts = (*patterns.subpatterns(rule.source), *patterns.subpatterns(rule.target))
    return any(
        isinstance(part, patterns.OperatorPattern) and part.head in _EXPONENTIALS for part in parts
    )


def _test_rule(
    rule: PatternRule,
    typings: Sequence[_Typing],
    tries: int,
    rng: np.random.Generator,
    special: SpecialNumbers,
    steps: int,
    *,
    is_partial: bool = False,
    is_equation: bool = False,
) -> TermCounterexample | int:
    """Return a counterexample, or in how many cases both sides were the same."""
    compared = 0
    for attempt in range(4 * tries if typings else 0):
        kinds, binders = typings[attempt % len(typings)]
        source = _source(rule, kinds, binders, rng, special, is_partial=is_partial)
        target = None if source is None else apply_rule(rule, source)
        if source is None or target is None:
            continue
        for _ in range(3):
            answer = _compared(rule, source, target, rng, special, steps, is_equation=is_equation)
            if isinstance(answer, TermCounterexample):
                return answer
            compared += answer
        if compared >= tries:
            break
    return compared


def special_numbers(rule: PatternRule) -> tuple[int | float, ...]:
    """Return the numbers in a rule that are tried anyway but rarely, and what is around them.

    >>> from polygym.terms.rules.rule_table import parse_rules
    >>> [rule] = parse_rules("big: (max ?a 1e6) => ?a if (float ?a)")
    >>> assert isinstance(rule, PatternRule)
    >>> special_numbers(rule)
    (1000000.0, 999999.0, 1000001.0, -1000000.0, 2000000.0, 500000.0)
    """
    result: dict[tuple[type, int | float], None] = {}
    for literal in (*_literals(rule.source), *_literals(rule.target)):
        if abs(literal) > _USUAL:
            near: tuple[int | float, ...] = (
                literal,
                literal - 1,
                literal + 1,
                -literal,
                2 * literal,
            )
            near += (literal // 2 if isinstance(literal, int) else literal / 2,)
            result |= {(type(each), each): None for each in near if abs(each) < _MAX_MAGNITUDE}
    return tuple(number for _, number in result)


def _literals(pattern: patterns.Pattern) -> Iterator[int | float]:
    for part in patterns.subpatterns(pattern):
        if isinstance(part, patterns.LiteralPattern) and isinstance(part.term.head, int | float):
            yield part.term.head


def _compared(
    rule: PatternRule,
    source: Term,
    target: Term,
    rng: np.random.Generator,
    special: SpecialNumbers,
    steps: int,
    *,
    is_equation: bool,
) -> TermCounterexample | bool:
    names = free_variables(source) | free_variables(target)
    values = {
        name: random_value(kind, rng, special, LENGTH - int(rng.random() < _RARELY))
        for name, kind in names.items()
    }
    try:
        expected = evaluate_term(source, values, steps)
        if not (is_equation or is_regular(expected)):
            return False
        result = evaluate_term(target, values, steps)
    except LimitError:
        return False
    if not (is_regular(expected) or is_regular(result)):
        return False
    if is_close(expected, result):
        return True
    return TermCounterexample(rule, source, target, tuple(values.items()), expected, result)


def _typings(rule: PatternRule) -> list[_Typing]:
    """Return types of metavariables and binders with which the rule can be applied at all."""
    names = list(dict.fromkeys(meta.name for meta in patterns.metavariables(rule.source)))
    free = _free_functions(rule.source)
    rng = np.random.default_rng(0)
    typings: list[_Typing] = []
    for tried, kinds in enumerate(_assignments(len(names) + len(free), rng)):
        if tried > _MOST_TRIED or len(typings) >= _MOST_TYPINGS:
            break
        given = dict(zip(names, kinds, strict=False))
        binders = dict(zip(free, kinds[len(names) :], strict=True))
        known = patterns.PatternMatch(
            {name: (variable(f"v{name[1:]}", kind), ()) for name, kind in given.items()}
        )
        known.binder_types.update(binders)
        known.bindings = {
            meta.name: (known.bindings[meta.name][0], meta.scope)
            for meta in patterns.metavariables(rule.source)
        }
        try:
            made = patterns.instantiate(rule.source, known)
            if made is not None:
                term_facts(made)
                typings.append((given, binders))
        except IllTypedError:
            continue
    return typings


def _assignments(count: int, rng: np.random.Generator) -> Iterable[tuple[Type, ...]]:
    """Yield types for so many names: all ways if there are few, otherwise some at random."""
    if len(_KINDS) ** count <= _MOST_TRIED:
        every = list(product(_KINDS, repeat=count))
        order = rng.permutation(len(every))
        yield from (every[at] for at in order)
        return
    while True:
        yield tuple(_KINDS[int(at)] for at in rng.integers(len(_KINDS), size=count))


_LOOPS = ("build", "sumbuild")


def _free_functions(pattern: patterns.Pattern) -> list[str]:
    """Return the binders of functions that are no bodies of loops."""
    parts = list(patterns.subpatterns(pattern))
    bodies = [
        child
        for part in parts
        if isinstance(part, patterns.OperatorPattern) and part.head in _LOOPS
        for child in part.children
    ]
    functions = (part for part in parts if isinstance(part, patterns.LambdaPattern))
    return [part.name for part in functions if part not in bodies]


def _source(
    rule: PatternRule,
    kinds: dict[str, Type],
    binders: dict[str, Type],
    rng: np.random.Generator,
    special: SpecialNumbers,
    *,
    is_partial: bool,
) -> Term | None:
    """Return the source with random terms for its metavariables; None if that makes no sense.

    Where ``is_partial``, many of these have no value in some cases, or are not needed in some.
    """
    known = patterns.PatternMatch(binder_types=dict(binders))
    scopes: dict[str, patterns.Metavariable] = {}
    for meta in patterns.metavariables(rule.source):
        if meta.name not in scopes or len(meta.scope) < len(scopes[meta.name].scope):
            scopes[meta.name] = meta
    types = dict(binders)
    # A let's variable has the type of its value, which is a metavariable as a rule; others rarely.
    types |= _let_types(rule.source, kinds)
    extents, unneeded = _extents(rule.source), _maybe_unneeded(rule.source)
    for name, meta in scopes.items():
        around = [types.get(binder, INTEGER) for binder in meta.scope]

        def make(kind: Type, around: list[Type] = around) -> Term:
            return random_term(kind, around, rng, int(rng.integers(0, 3)), special)

        kind = kinds[name]
        said = {each.name for each in rule.conditions if each.metavariable == name}
        if "zero" in said:
            made = zero_term(kind)
        elif "positive" in said and kind in (FLOAT, INTEGER):
            made = positive_term(make, rng) if kind == FLOAT else term(int(rng.integers(1, 4)))
        elif name in extents and rng.random() < _OFTEN:
            made = extent_term(rng)
        elif is_partial and rng.random() < 0.5 and (some := partly_needing(kind, around, rng)):
            made = some
        elif is_partial and name in unneeded and rng.random() < 0.5:
            made = term_without_value(kind, around, rng)
        else:
            made = make(kind)
        known.bindings[name] = made, meta.scope
    try:
        whole = patterns.instantiate(rule.source, known)
        if whole is not None:
            term_facts(whole)
    except IllTypedError:
        return None
    return whole


def _extents(pattern: patterns.Pattern) -> set[str]:
    """Return the metavariables that are extents of loops."""
    return {
        part.children[0].name
        for part in patterns.subpatterns(pattern)
        if isinstance(part, patterns.OperatorPattern)
        and part.head in _LOOPS
        and isinstance(part.children[0], patterns.Metavariable)
    }


def _maybe_unneeded(pattern: patterns.Pattern) -> set[str]:
    """Return the metavariables that are evaluated only in some cases.

    They are in arms of an ``if``, in bodies of loops, or bound by a ``let``.
    """
    lazy: list[patterns.Pattern] = []
    for part in patterns.subpatterns(pattern):
        match part:
            case patterns.OperatorPattern("if", (_, *arms)):
                lazy += arms
            case patterns.LambdaPattern(_, body):
                lazy.append(body)
            case patterns.LetPattern(_, value, _):
                lazy.append(value)
    return {meta.name for part in lazy for meta in patterns.metavariables(part)}


def _let_types(pattern: patterns.Pattern, kinds: dict[str, Type]) -> dict[str, Type]:
    lets = (part for part in patterns.subpatterns(pattern) if isinstance(part, patterns.LetPattern))
    return {
        part.name: kinds[part.value.name]
        if isinstance(part.value, patterns.Metavariable)
        else FLOAT
        for part in lets
    }
