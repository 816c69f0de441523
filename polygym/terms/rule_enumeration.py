"""Rules that are found: small terms are enumerated, those that agree on random values become rules.

Terms over the metavariables ?a, ?b, and ?u, ?v in bodies of sums, are made level by level, and
evaluated for the same random values. Of those that agree the dearer ones become sources and the
cheapest one the target. What is left is tried by :mod:`polygym.terms.rules.soundness`, conditions,
scopes, empty loops and all. A rule that only loops without turns refute is tried again with a guard
around what moved out of the loop: ``(if (gt ?n 0) ?a 0.0)``. To what a rule applies that was found
before is no source again.

    >>> for rule in enumerate_rules(("exp", "log"), 2):
    ...     print(rule)
    found0: (exp (log ?a)) => ?a
    found1: (log (exp ?a)) => ?a
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from polygym.errors import InputError
from polygym.rewrite.term import Term, postorder
from polygym.terms.cost import StaticCost
from polygym.terms.language.interpreter import evaluate_term
from polygym.terms.language.parser import parse_program
from polygym.terms.language.values import Value, is_close, is_regular
from polygym.terms.rules.patterns import PatternMatch, match_pattern
from polygym.terms.rules.rule_table import parse_rules
from polygym.terms.rules.rule_types import PatternRule
from polygym.terms.rules.soundness import find_counterexample

UNARY = ("exp", "log", "neg", "sqrt")
ENUMERATED = (*UNARY, "add", "sub", "mul", "div", "pow", "max", "min")
"""The operators that may be asked for."""
_TRIES = 6
_TURNS = 3
_GUARDED = ("?a", "?b")
_CONSTANTS = ("0.0", "1.0")


def enumerate_rules(
    operators: Sequence[str], levels: int = 2, *, with_sums: bool = False, seed: int = 0
) -> Iterator[PatternRule]:
    """Yield sound rules that make terms of some operators cheaper, the smallest first.

    Raises:
        InputError: an operator is none that is enumerated.
    """
    for name in operators:
        if name not in ENUMERATED:
            raise InputError(
                f"operators: expected some of {', '.join(ENUMERATED)}, found {name[:80]!r}"
            )
    texts = [*_CONSTANTS, *_expressions(operators, ("?a", "?b"), levels)]
    if with_sums:
        bodies = [*_expressions(operators, ("?u", "?v", "?a"), 1)]
        sums = [f"(sumbuild ?n (lam x {body}))" for body in bodies]
        binary = [name for name in operators if name not in UNARY]
        few = ["?a", *sums[:3]]
        texts += sums
        texts += [f"({name} {one} {other})" for name, one, other in product(binary, few, few)]
    found: list[PatternRule] = []
    for source, target in _pairs(texts, np.random.default_rng(seed)):
        if _is_reducible(_as_term(source), found):
            continue
        rule = _verified(f"found{len(found)}", source, target, seed)
        if rule is not None:
            found.append(rule)
            yield rule


def _expressions(operators: Sequence[str], leaves: Sequence[str], levels: int) -> Iterator[str]:
    """Yield expressions, those of fewer levels first; of two operands one is of the last level."""
    last, every = list(leaves), list(leaves)
    yield from last
    for _ in range(levels):
        made: dict[str, None] = {}
        for name in operators:
            if name in UNARY:
                made |= dict.fromkeys(f"({name} {part})" for part in last)
                continue
            made |= dict.fromkeys(f"({name} {one} {other})" for one, other in product(last, last))
            made |= dict.fromkeys(f"({name} {one} {other})" for one, other in product(last, leaves))
        last = [text for text in made if text not in every]
        every += last
        yield from last


def _pairs(texts: Sequence[str], rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Yield sources and targets that agree, the cheapest sources first."""
    cost = StaticCost()
    values: list[dict[str, Value]] = []
    for at in range(_TRIES):
        numbers = rng.integers(1, 12, 2 + 2 * _TURNS) / 4.0 * (1.0 if at < 3 else -1.0)
        floats = [float(number) for number in numbers]
        values.append({"a": floats[0], "b": floats[1], "n": _TURNS,
                       "u": floats[2 : 2 + _TURNS], "v": floats[2 + _TURNS :]})  # fmt: skip
    classes: dict[tuple[float, ...], list[tuple[float, str, tuple[Value, ...]]]] = {}
    for text in dict.fromkeys(texts):
        body = _as_term(text)
        results = tuple(evaluate_term(body, each) for each in values)
        if sum(map(is_regular, results)) < _TRIES // 2:
            continue
        key = tuple(round(result, 6) for result in results[:3] if is_regular(result))
        classes.setdefault(key, []).append((cost(body), text, results))
    pairs: list[tuple[float, str, str]] = []
    for group in classes.values():
        group.sort(key=lambda row: (row[0], len(row[1]), row[1]))
        for source_cost, source, results in group[1:]:
            for target_cost, target, others in group:
                if target_cost >= source_cost:
                    break
                agree = zip(results, others, strict=True)
                if all(is_close(mine, its) for mine, its in agree if is_regular(mine)):
                    pairs.append((source_cost, source, target))
                    break
    for _, source, target in sorted(pairs, key=lambda row: (len(row[1]), row)):
        yield source, target


def _as_term(text: str) -> Term:
    """Return an expression with variables for its metavariables, vectors for ?u and ?v."""
    loop = text.replace("?u", "(index x u)").replace("?v", "(index x v)").replace("?", "")
    names = "(a : Float) (b : Float) (n : Integer) (u : Vec n Float) (v : Vec n Float)"
    return parse_program(f"(def f Float ({names}) {loop})").body


def _verified(name: str, source: str, target: str, seed: int) -> PatternRule | None:
    """Return a sound rule, with guards if it needs them; None without one."""
    for guarded in (target, *_with_guards(target)):
        for condition in ("", " if (float ?a)"):
            try:
                [rule] = parse_rules(f"{name}: {source} => {guarded}{condition}")
                assert isinstance(rule, PatternRule)
                if find_counterexample(rule, tries=150, seed=seed) is None:
                    return rule
            except InputError:
                continue
    return None


def _with_guards(target: str) -> Iterator[str]:
    """Yield a target with what is outside of its loop evaluated only if that has turns."""
    if "(sumbuild ?n" in target:
        for name, nothing in product(_GUARDED, ("0.0", "1.0")):
            yield target.replace(name, f"(if (gt ?n 0) {name} {nothing})")


def _is_reducible(source: Term, known: Sequence[PatternRule]) -> bool:
    """Whether a known rule applies to a part of a term, which is therefore no new source."""
    return any(
        match_pattern(rule.source, part, PatternMatch())
        for part in postorder([source])
        for rule in known
    )
