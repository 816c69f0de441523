"""Applicability of a rule to data of its variables: allowed or not, and its literals.

Conditions, computed literals and the question whether a target makes sense depend on the data of a
match's variables alone, so that their answer is found once for each combination of data. What
matches (in an e-graph or in a term) is of no interest here.
"""

from collections.abc import Iterable

from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.rule import Rule
from polygym.rewrite.term import Term, is_variable, postorder, variable_names
from polygym.rewrite.type_table import REFUSED, TypeTable


def is_computed_literal(one: Term) -> bool:
    """Whether a part of a rule is a literal that the domain computes: ``(=function …)``."""
    return isinstance(one.head, str) and one.head.startswith("=") and bool(one.children)


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
        return (*[literals[one] for one in self.computed], *targets)

    def _number(
        self,
        root: Term,
        values: dict[str, int],
        numbers: dict[Term, int],
        literals: dict[Term, int],
    ) -> int:
        types = self._types
        for term in postorder([root]):
            if term in numbers:
                continue
            if is_variable(term):
                numbers[term] = values[str(term.head)]
                continue
            children = [numbers[child] for child in term.children]
            if is_computed_literal(term):
                arguments = tuple(types.values[child] for child in children)
                literal = types.domain.compute(str(term.head)[1:], arguments)
                literals[term] = types.operator(literal, 0)
                key: tuple[int, ...] = (literals[term],)
            else:
                key = (types.operator(term.head, len(children)), *children)
            numbers[term] = types.infer(key)
            if numbers[term] == REFUSED:
                raise Inadmissible(f"rule {self.rule.name}: {term.head} makes no sense here")
        return numbers[root]
