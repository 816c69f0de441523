"""Rules: patterns that are equal wherever their conditions hold; tables of them as text.

A line of a table says what becomes what::

    ewadd-commutes: (ewadd ?x ?y) => (ewadd ?y ?x)
    matmul-associates: (matmul none ?x (matmul none ?y ?z)) <=> (matmul none (matmul none ?x ?y) ?z)
    two-products: (matmul ?c ?x ?v) & (matmul ?c ?x ?w)
        => (split0 =m) & (split1 =m)
        let m = (split 1 (=extent ?v 1) (matmul ?c ?x (concat2 1 ?v ?w)))
        if (two-dimensional ?v)

``<=>`` is two rules, the second with ``-back`` after its name. A rule with several sources and as
many targets, joined by ``&``, says that each source equals its target: sources match together, a
variable being the same class in all. ``let NAME = TERM`` names a part that is written once as
``=NAME``. ``if`` begins the conditions, joined by ``&`` too: words of the domain, each true or
false of the data of its arguments. ``(=function …)`` is a literal that the domain computes at the
match. Where a rule ends the name of the next one begins.

Every variable of targets and conditions must stand in a source.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from polygym.errors import InputError
from polygym.rewrite.domain import Domain
from polygym.rewrite.s_expressions import TermReader, term_text
from polygym.rewrite.term import Term, is_variable, postorder, rebuild, term, variable_names


@dataclass(frozen=True, slots=True)
class Rule:
    """Sources equal targets, one by one, wherever the conditions hold.

    >>> [rule] = parse_rules("twice: (add ?x ?x) => (mul 2 ?x) if (real ?x)")
    >>> print(rule)
    twice: (add ?x ?x) => (mul 2 ?x) if (real ?x)
    """

    name: str
    sources: tuple[Term, ...]
    targets: tuple[Term, ...]
    conditions: tuple[Term, ...] = ()

    def __post_init__(self) -> None:
        """Check that every variable is bound and every source is a node."""
        if len(self.sources) != len(self.targets):
            raise InputError(
                f"rule {self.name}: expected as many targets as sources, found "
                f"{len(self.sources)} and {len(self.targets)}"
            )
        if any(is_variable(source) for source in self.sources):
            raise InputError(f"rule {self.name}: expected a source that is more than a variable")
        bound = set(variable_names(self.sources))
        for name in variable_names((*self.targets, *self.conditions)):
            if name not in bound:
                raise InputError(f"rule {self.name}: expected {name} in a source, found it nowhere")
        for part in postorder(self.sources):
            if is_computed_literal(part):
                raise InputError(
                    f"rule {self.name}: expected {term_text(part)} in a target or condition, "
                    "found it in a source"
                )

    @property
    def is_multiple(self) -> bool:
        """Whether several sources have to match together."""
        return len(self.sources) > 1

    def __str__(self) -> str:
        """Return the line of a table."""
        sources, targets = (
            " & ".join(map(term_text, side)) for side in (self.sources, self.targets)
        )
        conditions = " & ".join(map(term_text, self.conditions))
        return f"{self.name}: {sources} => {targets}" + (f" if {conditions}" if conditions else "")


def parse_rules(text: str, file: str = "<rules>") -> list[Rule]:
    """Return the rules of a table.

    Raises:
        SourceError: the text is none; says where.
        InputError: two rules have one name, or a variable is bound nowhere.
    """
    reader = TermReader(text, file)
    rules: dict[str, Rule] = {}
    while reader.peek():
        for rule in _rule(reader):
            if rule.name in rules:
                raise InputError(f"{file}: expected one rule named {rule.name}, found two")
            rules[rule.name] = rule
    return list(rules.values())


def rules_text(rules: Iterable[Rule]) -> str:
    """Return a table that :func:`parse_rules` reads."""
    return "".join(f"{rule}\n" for rule in rules)


def check_rule_terms(rules: Iterable[Rule], domain: Domain) -> None:
    """Check that conditions and computed literals are words of the domain.

    Raises:
        InputError: one is not; says which there are.
    """
    for rule in rules:
        for condition in rule.conditions:
            if condition.head not in domain.conditions():
                known = ", ".join(sorted(domain.conditions()))
                raise InputError(
                    f"rule {rule.name}: expected a condition, one of {known}; "
                    f"found {condition.head}"
                )
        for part in postorder((*rule.targets, *rule.conditions)):
            if is_computed_literal(part) and str(part.head)[1:] not in domain.functions():
                known = ", ".join(f"={name}" for name in sorted(domain.functions()))
                raise InputError(
                    f"rule {rule.name}: expected a function, one of {known}; found {part.head}"
                )


def is_computed_literal(part: Term) -> bool:
    """Whether a part of a rule is a literal that the domain computes: ``(=function …)``."""
    return isinstance(part.head, str) and part.head.startswith("=") and bool(part.children)


def _rule(reader: TermReader) -> list[Rule]:
    name = reader.take()
    if not name.endswith(":") or name == ":":
        raise reader.error(f"expected the name of a rule and ':', found {name!r}", back=1)
    name = name[:-1]
    sources = _joined_terms(reader)
    arrow = reader.take()
    if arrow not in ("=>", "<=>"):
        raise reader.error(f"expected '=>' or '<=>', found {arrow!r}", back=1)
    targets = _joined_terms(reader)
    parts: dict[str, Term] = {}
    while reader.peek() == "let":
        reader.take()
        part = reader.take()
        reader.take("=")
        parts[f"={part}"] = _substitute_parts(reader.expression(), parts)
    conditions: list[Term] = []
    if reader.peek() == "if":
        reader.take()
        conditions = _joined_terms(reader)
    if (word := reader.peek()) and not word.endswith(":"):
        raise reader.error(f"expected the end of rule {name} or the name of one, found {word!r}")
    left, right, needed = (
        tuple(_substitute_parts(root, parts) for root in side)
        for side in (sources, targets, conditions)
    )
    forth = Rule(name, left, right, needed)
    return [forth] if arrow == "=>" else [forth, Rule(f"{name}-back", right, left, needed)]


def _joined_terms(reader: TermReader) -> list[Term]:
    terms = [reader.expression()]
    while reader.peek() == "&":
        reader.take()
        terms.append(reader.expression())
    return terms


def _substitute_parts(root: Term, parts: dict[str, Term]) -> Term:
    """Return a term with what was named in the place of its name."""
    if not parts:
        return root

    def change(node: Term, children: tuple[Term, ...]) -> Term:
        if not children and isinstance(node.head, str) and node.head in parts:
            return parts[node.head]
        return term(node.head, *children)

    return rebuild(root, change)
