"""Reference page of rewriting rules: tables of tensor graphs, tables of terms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import resources

from docs.site.markdown import PageOpening, code, heading, page, plain, table
from polygym.graphs.rules import canonical_key, load_rules, standard_rules
from polygym.rewrite.rule import Rule
from polygym.rewrite.s_expressions import term_text
from polygym.terms.rules.rule_table import RULE_SETS, rules_named
from polygym.terms.rules.rule_types import CONDITIONS, PatternRule, TermRule

_OPENING = PageOpening(
    (
        "A rule replaces its left side by its right side where its conditions hold.",
        "↔ is two rules, one in each direction.",
        "`polygym graph rules` and `polygym rewrite` apply, check and find rules.",
    ),
    """\
```text title="mine.rules"
relu-twice: (relu (relu ?x)) => (relu ?x)
```

```console
$ polygym graph rules --check mine.rules
every rule holds: 1 rule
```
""",
)

_GRAPHS = """\
`?x` is a variable. A rule of several sources has a line for each source and its target.
"""

_TERMS = """\
`?a` is a metavariable; other names are operators, constants, or names that the rule binds.
"""


@dataclass(frozen=True, slots=True)
class _RuleRow:
    """A rule as texts; ``is_both_ways`` where the right side also becomes the left one."""

    name: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    conditions: tuple[str, ...]
    is_both_ways: bool = False

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of its row."""
        sides = ["<br>".join(map(code, side)) for side in (self.left, self.right)]
        conditions = "<br>".join(map(code, self.conditions))
        return code(self.name), sides[0], "↔" if self.is_both_ways else "→", sides[1], conditions

    def is_inverse_of(self, other: _RuleRow) -> bool:
        """Whether another rule, named after it, is the same from right to left."""
        return (
            other.name == f"{self.name}-back"
            and (other.left, other.right) == (self.right, self.left)
            and set(other.conditions) == set(self.conditions)
        )


def rules_page() -> str:
    """Return the page."""
    graphs: list[str] = []
    for name in graph_tables():
        rules = load_rules([name])
        title = heading(3, f"Table {code(name)}", f"graphs-{name}")
        graphs += [title, _count(len(rules)), _graph_table(rules)]
    terms: list[str] = []
    for name in term_tables():
        rows = rules_named(name)
        title = heading(3, f"Table {code(name)}", f"terms-{name}")
        terms += [title, _count(len(rows)), _term_table(rows)]
    return page(
        "Rules",
        _OPENING,
        heading(2, "Rules of tensor graphs"),
        _GRAPHS,
        _standard(),
        *graphs,
        heading(2, "Rules of terms"),
        _TERMS,
        _sets(),
        "Conditions:",
        table(
            ("Condition", "Meaning"),
            [
                (code(text.partition(": ")[0]), plain(text.partition(": ")[2]))
                for text in CONDITIONS.values()
            ],
        ),
        *terms,
    )


def graph_tables() -> tuple[str, ...]:
    """Return the names of the tables of graph rules in the package."""
    folder = resources.files("polygym.graphs.rules") / "tables"
    names = (one.name for one in folder.iterdir())
    return tuple(sorted(name.removesuffix(".rules") for name in names if name.endswith(".rules")))


def term_tables() -> tuple[str, ...]:
    """Return the sets of term rules that are one table each."""
    folder = resources.files("polygym.terms.rules")
    return tuple(name for name in RULE_SETS if (folder / f"{name}.rules").is_file())


def _standard() -> str:
    seldom = {canonical_key(rule) for rule in load_rules(["seldom"])}
    return (
        f"Optimization uses {len(standard_rules())} rules unless others are named: those of "
        "`generated` and `handwritten` without the "
        f"{len(seldom)} of `seldom`, which grow e-graphs without a gain."
    )


def _sets() -> str:
    """Return which tables each set of term rules has."""
    members = {name: {rule.name for rule in rules_named(name)} for name in term_tables()}
    rows = []
    for name in RULE_SETS:
        names = {rule.name for rule in rules_named(name)}
        tables = [table for table, own in members.items() if own <= names]
        rows.append((code(name), ", ".join(map(code, tables)), str(len(names))))
    return table(("Set", "Tables", "Rules"), rows)


def _graph_table(rules: Iterable[Rule]) -> str:
    return _table(
        _RuleRow(
            rule.name,
            tuple(map(term_text, rule.sources)),
            tuple(map(term_text, rule.targets)),
            tuple(map(term_text, rule.conditions)),
        )
        for rule in rules
    )


def _term_table(rules: Iterable[TermRule]) -> str:
    return _table(map(_term_row, rules))


def _term_row(rule: TermRule) -> _RuleRow:
    left, _, right = str(rule).removeprefix(f"{rule.name}: ").partition(" => ")
    conditions = rule.conditions if isinstance(rule, PatternRule) else ()
    if conditions:
        right = right.rpartition(" if ")[0]
    return _RuleRow(rule.name, (left,), (right,), tuple(map(str, conditions)))


def _table(rules: Iterable[_RuleRow]) -> str:
    """Return a table in which the two directions of a rule are one row."""
    rows: list[_RuleRow] = []
    for rule in rules:
        if rows and rows[-1].is_inverse_of(rule):
            rows[-1] = replace(rows[-1], is_both_ways=True)
        else:
            rows.append(rule)
    return table(("Rule", "Left", "", "Right", "Condition"), [row.cells for row in rows])


def _count(number: int) -> str:
    return f"{number} rules; ↔ counts as two."
