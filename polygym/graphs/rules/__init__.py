"""Rules of tensor graphs: tables in the package, and those that users add, which are verified.

====================  =========================================================================
``generate``          rules that are found
``instances``         instances of a rule
``shape_proposals``   shape proposals
``variable_binding``  shapes and literals for the variables of a rule, made from the outside in
``verification``      verification
====================  =========================================================================

    >>> [rule.name for rule in load_rules(["handwritten"])][:2]
    ['add-of-one-shape', 'conv-tanh']

Canonical key of rules that differ in names alone: those of variables, and their own.

>>> from polygym.rewrite.rule import parse_rules
>>> text = "a: (ewadd ?x ?y) => (ewadd ?y ?x) b: (ewadd ?u ?v) => (ewadd ?v ?u)"
>>> one, other = parse_rules(text)
>>> canonical_key(one) == canonical_key(other)
True
"""

from collections.abc import Iterable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from polygym.errors import InputError
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.rewrite.rule import Rule, check_rule_terms, parse_rules
from polygym.rewrite.term import Term, substitute, term, variable_names

__all__ = ["TABLES", "RuleKey", "canonical_key", "load_rule_file", "load_rules", "standard_rules"]

RuleKey: TypeAlias = tuple[tuple[Term, ...], tuple[Term, ...], frozenset[Term]]


def canonical_key(rule: Rule) -> RuleKey:
    """Return a rule's sides and conditions, variables numbered in the order in which they stand."""
    names = {name: term(f"?{place}") for place, name in enumerate(variable_names(rule.sources))}
    sources, targets, conditions = (
        tuple(substitute(root, names) for root in side)
        for side in (rule.sources, rule.targets, rule.conditions)
    )
    return sources, targets, frozenset(conditions)


TABLES = ("generated", "handwritten", "biases")
"""The tables of the package that are used, less what the table ``seldom`` names."""

_FILE_CASES = 400
"""How many instances a rule of a user is tried on, literals apart."""


def load_rules(names: Iterable[str]) -> list[Rule]:
    """Return the rules of tables: ``handwritten``, or ``mine.rules`` for a file, which is verified.

    Raises:
        InputError: there is no such table, or a rule of a file is not sound.
    """
    rules: list[Rule] = []
    for name in names:
        rules += load_rule_file(Path(name)) if name.endswith(".rules") else _package_table(name)
    return rules


def load_rule_file(path: Path) -> list[Rule]:
    """Return the rules of a file, each of them verified.

    Raises:
        SourceError: the text is no table; says where.
        InputError: there is no such file; a word of a condition is unknown; a rule never fires, or
            it is not sound, which is shown by numbers.
    """
    from polygym.graphs.rules.verification import check_rule

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"expected a table of rules in {path}: {error}") from None
    rules = parse_rules(text, str(path))
    check_rule_terms(rules, TENSOR_DOMAIN)
    for rule in rules:
        check_rule(rule, _FILE_CASES)
    return rules


def standard_rules() -> list[Rule]:
    """Return the rules that optimisation uses unless others are named.

    What the table ``seldom`` names is true and left out: it fills an e-graph and gains nothing.
    """
    return list(_cached_standard_rules())


@cache
def _cached_standard_rules() -> tuple[Rule, ...]:
    seldom = {canonical_key(rule) for rule in _package_table("seldom")}
    rules = load_rules(TABLES)
    return tuple(rule for rule in rules if canonical_key(rule) not in seldom)


def _package_table(name: str) -> list[Rule]:
    tables = resources.files(__name__) / "tables"
    known = sorted(
        traversable.name.removesuffix(".rules")
        for traversable in tables.iterdir()
        if traversable.name.endswith(".rules")
    )
    if name not in known:
        raise InputError(
            f"expected a table of rules, one of {', '.join(known)} or a file that ends in .rules; "
            f"found {name}"
        )
    return parse_rules((tables / f"{name}.rules").read_text(encoding="utf-8"), f"{name}.rules")
