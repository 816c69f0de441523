"""Applicability of a rule to data of its variables: allowed or not, and its literals.

Conditions, computed literals and the question whether a target makes sense depend on the data of a
match's variables alone, so that their answer is found once for each combination of data. What
matches (in an e-graph or in a term) is of no interest here.

Rules with several sources: which patterns to look for, and which matches go together.

Patterns that differ in the names of variables alone are looked for once
(:func:`canonical_pattern`). A match of one is a tuple: where its root stands, then what its
variables are, in the order in which they first appear (:func:`variable_names`). The matches of a
rule's sources are joined over shared variables by hashing; matches at one root are not paired, and
where two sources can change places (:attr:`MatchJoin.halves`), one of the two orders is enough. It
makes no difference whether matches are of classes of an e-graph or of terms.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from polygym.rewrite.domain import REFUSED, Inadmissible, TypeTable
from polygym.rewrite.rule import Rule, is_computed_literal
from polygym.rewrite.term import Term, is_variable, postorder, substitute, term, variable_names


def built_parts(targets: Iterable[Term]) -> set[Term]:
    """Return the parts of targets that become nodes, and variables: not a function's arguments."""
    terms: set[Term] = set()
    stack = list(targets)
    while stack:
        term = stack.pop()
        if term not in terms:
            terms.add(term)
            if not is_computed_literal(term):
                stack.extend(term.children)
    return terms


class RuleApplicability:
    """The answers for one rule."""

    def __init__(self, rule: Rule, types: TypeTable) -> None:
        """Ask nothing yet."""
        self.rule = rule
        self.variables = tuple(variable_names(rule.sources))
        self.computed = tuple(term for term in postorder(rule.targets) if is_computed_literal(term))
        self.leaves = [
            sorted(
                self.variables.index(str(part.head))
                for part in built_parts([target])
                if is_variable(part)
            )
            for target in rule.targets
        ]
        """Target: the places of those variables of which it is made."""
        self.known: dict[tuple[int, ...], tuple[int, ...] | None] = {}
        self._types = types

    def of(self, data: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the operators of the computed literals, then the numbers of the targets' data.

        The literals are in the order of :attr:`computed`. None if the rule does not apply: a
        condition does not hold, a function says nothing of such arguments, or a target is
        inadmissible. ``data`` are the numbers of the variables' data.
        """
        try:
            return self.known[data]
        except KeyError:
            answer = self.known[data] = self._ask(data)
            return answer

    def _ask(self, data: tuple[int, ...]) -> tuple[int, ...] | None:
        types, rule = self._types, self.rule
        numbers: dict[Term, int] = {}
        literals: dict[Term, int] = {}
        values = dict(zip(self.variables, data, strict=True))
        try:
            for condition in rule.conditions:
                arguments = tuple(
                    types.values[self._number(child, values, numbers, literals)]
                    for child in condition.children
                )
                if not types.domain.holds(str(condition.head), arguments):
                    return None
            targets = [self._number(term, values, numbers, literals) for term in rule.targets]
        except Inadmissible:
            return None
        return (*[literals[literal] for literal in self.computed], *targets)

    def _number(
        self,
        root: Term,
        values: dict[str, int],
        numbers: dict[Term, int],
        literals: dict[Term, int],
    ) -> int:
        types = self._types
        for part in postorder([root]):
            if part in numbers:
                continue
            if is_variable(part):
                numbers[part] = values[str(part.head)]
                continue
            children = [numbers[child] for child in part.children]
            if is_computed_literal(part):
                arguments = tuple(types.values[child] for child in children)
                literal = types.domain.compute(str(part.head)[1:], arguments)
                literals[part] = types.operator(literal, 0)
                key: tuple[int, ...] = (literals[part],)
            else:
                key = (types.operator(part.head, len(children)), *children)
            numbers[part] = types.infer(key)
            if numbers[part] == REFUSED:
                raise Inadmissible(f"rule {self.rule.name}: {part.head} makes no sense here")
        return numbers[root]


def canonical_pattern(source: Term) -> tuple[Term, tuple[str, ...]]:
    """Return a pattern with its variables numbered, and what they were called.

    >>> from polygym.rewrite.s_expressions import parse_term, term_text
    >>> pattern, names = canonical_pattern(parse_term("(f ?x (g ?y) ?x)"))
    >>> term_text(pattern), names
    ('(f ?0 (g ?1) ?0)', ('?x', '?y'))
    """
    names = tuple(variable_names([source]))
    numbered = {name: term(f"?{place}") for place, name in enumerate(names)}
    return substitute(source, numbered), names


@dataclass(frozen=True, slots=True)
class MatchJoin:
    """How the matches of a rule's sources go together."""

    patterns: tuple[Term, ...]
    """The sources, their variables numbered."""
    columns: tuple[tuple[int, ...], ...]
    """Source: the places of its variables among the rule's."""
    width: int
    """How many variables the rule has."""
    halves: tuple[tuple[int, int], ...]
    """Sources that can change places, so that the match of the first has to come first."""

    def rows(self, matches: Sequence[Sequence[tuple[Any, ...]]]) -> Iterator[tuple[Any, ...]]:
        """Yield what goes together: the roots of all sources, then the rule's variables.

        In order of the first source's matches, then of the second's, and so on.
        """
        positions: dict[int, int] = {}  # of the variables, in the joined row
        roots: list[int] = []  # source: where its match's number stands, its root being the next
        width = 0
        joined: Iterator[tuple[Any, ...]] = iter([()])
        for place, columns in enumerate(self.columns):
            shared = [at for at, column in enumerate(columns) if column in positions]
            earlier = [roots[half] for half, other in self.halves if other == place]
            table: dict[Any, list[tuple[Any, ...]]] = {}
            key_of = _column_getter([at + 2 for at in shared])
            for number, match in enumerate(matches[place]):
                row = (number, *match)
                table.setdefault(key_of(row), []).append(row)
            wanted = _column_getter([positions[columns[at]] for at in shared])
            joined = _join_rows(joined, table, wanted, [root + 1 for root in roots], earlier)
            roots.append(width)
            for at, column in enumerate(columns):
                positions.setdefault(column, width + 2 + at)
            width += 2 + len(columns)
        places = [
            *(root + 1 for root in roots),
            *(positions[column] for column in range(self.width)),
        ]
        pick = _column_getter(places) if len(places) > 1 else lambda row: (row[places[0]],)
        return map(pick, joined)


def _join_rows(
    rows: Iterator[tuple[Any, ...]],
    table: dict[Any, list[tuple[Any, ...]]],
    wanted: Callable[[tuple[Any, ...]], Any],
    roots: list[int],
    earlier: list[int],
) -> Iterator[tuple[Any, ...]]:
    """Yield rows with a further match, which has another place and comes after those it mirrors."""
    for row in rows:
        before = [row[root] for root in roots]
        first = max([row[position] for position in earlier], default=-1)
        for match in table.get(wanted(row), ()):
            if match[0] > first and match[1] not in before:
                yield row + match


def _column_getter(places: list[int]) -> Callable[[tuple[Any, ...]], Any]:
    return itemgetter(*places) if places else lambda row: None


def rule_join(rule: Rule) -> MatchJoin:
    """Return how the matches of a rule's sources go together.

    >>> from polygym.rewrite.rule import parse_rules
    >>> [rule] = parse_rules("r: (mul ?x ?v) & (mul ?x ?w) => (left ?v ?w) & (right ?v ?w)")
    >>> join = rule_join(rule)
    >>> join.columns, join.halves
    (((0, 1), (0, 2)), ((0, 1),))
    >>> list(join.rows([[(7, 1, 2), (8, 1, 3)], [(7, 1, 2), (8, 1, 3)]]))
    [(7, 8, 1, 2, 3)]
    """
    places = {name: place for place, name in enumerate(variable_names(rule.sources))}
    forms = [canonical_pattern(source) for source in rule.sources]
    count = len(forms)
    halves = tuple(
        (one, other)
        for one in range(count)
        for other in range(one + 1, count)
        if _are_interchangeable(rule, one, other)
    )
    return MatchJoin(
        tuple(form for form, _ in forms),
        tuple(tuple(places[name] for name in names) for _, names in forms),
        len(places),
        halves,
    )


def _are_interchangeable(rule: Rule, one: int, other: int) -> bool:
    """Whether two sources are each other's image when variables change names.

    The conditions have to stay the same and the other sources too. What the targets become is not
    looked at: that the two orders come to the same is what makes such a rule useful.
    """
    (form, names), (twin, others) = (
        canonical_pattern(rule.sources[one]),
        canonical_pattern(rule.sources[other]),
    )
    if form is not twin:
        return False
    swap: dict[str, str] = {}
    for name, partner in zip(names, others, strict=True):
        if swap.setdefault(name, partner) != partner or swap.setdefault(partner, name) != name:
            return False
    values = {
        name: term(swap.get(name, name))
        for name in variable_names((*rule.sources, *rule.conditions))
    }
    swapped = [substitute(source, values) for source in rule.sources]
    swapped[one], swapped[other] = swapped[other], swapped[one]
    conditions = {substitute(condition, values) for condition in rule.conditions}
    return tuple(swapped) == rule.sources and conditions == set(rule.conditions)
