"""Sets of rules by name, and rules that users bring.

``binding`` and ``arithmetic`` are the two parts of Table 3 of *Knossos: Compiling AI with AI*,
``simple`` is both; ``vectors`` are the rules of Table 4 for its first phase, ``extended`` is
everything of both tables, with the ``simplification`` of the second phase. ``functions`` are a few
more, ``gradients`` those for sums of vectors that are mostly zero; ``all`` has them too.
"""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from polygym.errors import InputError
from polygym.terms.rules.rule_table import parse_rules
from polygym.terms.rules.rule_types import TermRule

_TABLES = {
    "binding": ("binding",),
    "arithmetic": ("arithmetic",),
    "simple": ("arithmetic", "binding"),
    "vectors": ("vectors",),
    "extended": ("arithmetic", "binding", "vectors", "simplification"),
    "simplification": ("simplification",),
    "functions": ("functions",),
    "gradients": ("gradients",),
    "all": ("arithmetic", "binding", "vectors", "simplification", "functions", "gradients"),
}
RULE_SETS = tuple(_TABLES)


@cache
def rules_named(name: str) -> tuple[TermRule, ...]:
    """Return a set of rules.

    >>> [len(rules_named(name)) for name in ("arithmetic", "binding", "vectors", "extended")]
    [28, 5, 11, 51]

    Raises:
        InputError: there is no such set.
    """
    if name not in _TABLES:
        raise InputError(f"a set of rules: expected one of {', '.join(RULE_SETS)}, found {name!r}")
    return tuple(rule for table in _TABLES[name] for rule in _table(table))


@cache
def _table(name: str) -> tuple[TermRule, ...]:
    text = files(__package__).joinpath(f"{name}.rules").read_text()
    return tuple(parse_rules(text, f"{name}.rules"))


def merge_rules(sets: Iterable[Iterable[TermRule]]) -> tuple[TermRule, ...]:
    """Return the rules of several sets together.

    Raises:
        InputError: two different ones have one name.
    """
    term_rules: dict[str, TermRule] = {}
    for rules in sets:
        for rule in rules:
            if term_rules.setdefault(rule.name, rule) != rule:
                raise InputError(f"rules: expected one rule named {rule.name}, found two")
    return tuple(term_rules.values())
