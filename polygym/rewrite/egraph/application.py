"""Applying: adding what rules say of their matches, compiled to Python source for each rule.

A match is a tuple: the classes of the sources' roots, then those of the variables. Whether the
rule holds for such data at all is remembered (:mod:`polygym.rewrite.applicability`), so that for
most matches nothing remains but to look up the target's nodes. Nothing is added where the rule does
not apply, or where the domain says that source and target cannot be equal. What classes know beyond
their nodes may make a target inadmissible whose parts were not, or the e-graph may be full: then
these parts remain as nodes that nothing uses, which changes no meaning.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from polygym.rewrite.applicability import MatchJoin, RuleApplicability, built_parts, rule_join
from polygym.rewrite.domain import TypeTable
from polygym.rewrite.egraph.egraph import EGraph, EGraphFullError
from polygym.rewrite.egraph.matching import EGraphMatch
from polygym.rewrite.rule import Rule, is_computed_literal
from polygym.rewrite.term import Head, Term, is_variable, postorder, term


class RuleProgram:
    """A rule, compiled for a domain."""

    def __init__(self, rule: Rule, types: TypeTable) -> None:
        """Compile a rule."""
        self.rule = rule
        self.join: MatchJoin = rule_join(rule)
        self._types = types
        self._apply: Callable[[EGraph, list[EGraphMatch], int], tuple[int, int]] | None = None

    @cached_property
    def exchanges_operands(self) -> bool:
        """Whether the target is the source with its variables in another order."""
        sides = self.rule.sources, self.rule.targets
        left, right = (list(_heads_in_order(side)) for side in sides)
        return (
            not self.rule.is_multiple
            and Counter(left) == Counter(right)
            and [head for head in left if is_variable(term(head))]
            != [head for head in right if is_variable(term(head))]
        )

    @cached_property
    def prospects(self) -> RuleApplicability:
        """What the rule comes to; known as soon as there is a match."""
        return RuleApplicability(self.rule, self._types)

    @cached_property
    def leaves(self) -> list[list[int]]:
        """Target: the places of those variables of which it is made."""
        return self.prospects.leaves

    @cached_property
    def every_leaf(self) -> list[int]:
        """The places of all of them."""
        return sorted({leaf for leaves in self.leaves for leaf in leaves})

    def apply(self, graph: EGraph, rows: list[EGraphMatch], first: int = 0) -> tuple[int, int]:
        """Apply the rule to matches from a place on.

        Return the place of the first that was not applied because the e-graph is full,
        ``len(rows)`` if there was none, and how many changed something.
        """
        if not rows:
            return 0, 0
        if self._apply is None:
            text, names = _program_text(self.rule, self.prospects, self._types)
            exec(compile(text, f"<rule {self.rule.name}>", "exec"), names)
            self._apply = names["apply"]
        return self._apply(graph, rows, first)


def _heads_in_order(roots: tuple[Term, ...]) -> Iterator[Head]:
    """Yield the heads of terms as they are written."""
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        yield node.head
        stack += reversed(node.children)


def _build_code(
    rule: Rule, prospects: RuleApplicability, types: TypeTable, values: list[str]
) -> tuple[dict[Term, str], list[str]]:
    """Return what nodes of the targets are called, and the lines that find or make them."""
    lines: list[str] = []
    say = lines.append
    names: dict[Term, str] = {}
    nodes = built_parts(rule.targets)
    for at, part in enumerate(node for node in postorder(rule.targets) if node in nodes):
        if is_variable(part):
            names[part] = values[prospects.variables.index(str(part.head))]
            continue
        name = names[part] = f"node{at}"
        if is_computed_literal(part):
            key = f"(prospect[{prospects.computed.index(part)}],)"
        else:
            operator = types.operator(part.head, len(part.children))
            key = f"({operator}, {''.join(f'{names[child]}, ' for child in part.children)})"
        say(f"            key = {key}")
        say(f"            {name} = table.get(key)")
        say(f"            if {name} is None:")
        say(f"                {name} = make(key)")
        say(f"                if {name} < 0: continue")
        say("                fresh = 1")
        say(f"            elif parents[{name}] != {name}: {name} = find({name})")
    return names, lines


def _program_text(
    rule: Rule, prospects: RuleApplicability, types: TypeTable
) -> tuple[str, dict[str, Any]]:
    count, width = len(rule.sources), len(prospects.variables)
    roots = [f"root{place}" for place in range(count)]
    values = [f"value{place}" for place in range(width)]
    lines = [
        "def apply(graph, rows, first):",
        "    parents, table, numbers = graph.parents, graph.table, graph.numbers",
        "    find, make, unite = graph.find, graph.make, graph.unite",
        "    known, ask, join = prospects.known.get, prospects.of, graph.types.join",
        "    place, changed = first, 0",
        "    try:",
        "        for place in range(first, len(rows)):",
        f"            {', '.join([*roots, *values])}, = rows[place]",
    ]
    say = lines.append
    for value in values:
        say(f"            if parents[{value}] != {value}: {value} = find({value})")
    say(f"            data = ({''.join(f'numbers[{value}], ' for value in values)})")
    say("            prospect = known(data, False)")
    say("            if prospect is False: prospect = ask(data)")
    say("            if prospect is None: continue")
    for place, root in enumerate(roots):
        say(f"            if parents[{root}] != {root}: {root} = find({root})")
        data = f"prospect[{place - count}]"
        say(
            f"            if numbers[{root}] != {data} and "
            f"join(numbers[{root}], {data}) < 0: continue"
        )
    say("            fresh = 0")
    names, making = _build_code(rule, prospects, types, values)
    lines += making
    targets = [names[target] for target in rule.targets]
    if count > 1:
        checks = " or ".join(
            f"join(numbers[{root}], numbers[{target}]) < 0"
            for root, target in zip(roots, targets, strict=True)
        )
        say(f"            if {checks}: continue")
    for root, made in zip(roots, targets, strict=True):
        say(f"            if {root} != {made}:")
        say(f"                if not unite({root}, {made}): continue")
        say("                fresh = 1")
    say("            changed += fresh")
    say("    except Full:")
    say("        return place, changed")
    say("    return len(rows), changed")
    return "\n".join(lines) + "\n", {"prospects": prospects, "Full": EGraphFullError}
