"""Rules with binders in an e-graph: variables are de Bruijn's numbers, pieces move by example.

A class holds terms that are equal wherever they stand, so ``%0`` means one thing in all of them:
the variable of the innermost binder around. A rule such as

    (sumbuild ?n (lam x (mul ?a ?b))) => (mul (if …) (sumbuild ?n (lam x ?b))) if (absent x ?a)

is matched node by node, and ?a stands for a class *under x*. Where the target has it under the same
binders, the class itself is put there, with all its terms. Where it moves, every number in it would
change, in every term: then one term of the class, its *example*, is renumbered and added
(:func:`polygym.terms.rules.patterns.change_scope`). The example is the cheapest known term, of
those with the fewest variables. ``let`` is written out wherever a target has it: the e-graph has
none. Conditions are asked of examples.

The approach is that of *Sketch-Guided Equality Saturation* (Koehler and others, 2021): substitution
by extraction.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.egraph import EGraph
from polygym.rewrite.term import Head, Term, term
from polygym.terms.cost import operator_cost
from polygym.terms.language.nodes import is_lam, term_facts
from polygym.terms.language.operators import IllTypedError, result_of
from polygym.terms.language.types import (
    BOOL,
    FLOAT,
    INTEGER,
    FunctionType,
    TupleType,
    Type,
    erase_sizes,
    type_from_text,
)
from polygym.terms.rules import patterns
from polygym.terms.rules.rule_types import PatternRule
from polygym.terms.saturation import inline_lets

Bindings: TypeAlias = dict[str, tuple[int, patterns.BinderNames]]
"""What metavariables stand for: classes, and the binders around them in the source."""


@dataclass(frozen=True, slots=True)
class ClassType:
    """The type of a class, and its number if it is an Integer that is written out."""

    type: Type
    number: int | None = None


class TypedTerms:
    """The domain of an e-graph of typed terms without ``let``."""

    def infer(self, head: Head, children: tuple[ClassType, ...]) -> ClassType:
        """Return the type of a node."""
        if not children:
            return _leaf(head)
        assert isinstance(head, str)
        if head.startswith("lam:"):
            return ClassType(FunctionType(type_from_text(head[4:]), children[0].type))
        if head == "select":
            whole, number = children[1].type, children[0].number
            if number is None or not isinstance(whole, TupleType) or number >= len(whole.parts):
                raise Inadmissible(f"select: expected a part of a tuple, found {number} of {whole}")
            return ClassType(whole.parts[number])
        try:
            return ClassType(erase_sizes(result_of(head, tuple(each.type for each in children))))
        except IllTypedError as error:
            raise Inadmissible(str(error)) from None

    def join(self, one: ClassType, other: ClassType) -> ClassType:
        """Return the type of what is equal; two numbers never are."""
        numbers = {one.number, other.number} - {None}
        if one.type != other.type or len(numbers) > 1:
            raise Inadmissible(f"expected one type, found {one} and {other}")
        return one if other.number is None else other

    def compute(self, name: str, arguments: tuple[Any, ...]) -> Head:
        """Refuse: there are no functions of data."""
        raise AssertionError(f"a rule of terms asks for {name}")

    def holds(self, name: str, arguments: tuple[Any, ...]) -> bool:
        """Return False: conditions are asked of examples."""
        return False

    def is_free(self, data: object) -> bool:
        """Return False."""
        return False

    def functions(self) -> dict[str, str]:
        """Return none."""
        return {}

    def conditions(self) -> dict[str, str]:
        """Return none."""
        return {}


def _leaf(head: Head) -> ClassType:
    if isinstance(head, float):
        return ClassType(FLOAT)
    if isinstance(head, int):
        return ClassType(INTEGER, head)
    if head in ("True", "False"):
        return ClassType(BOOL)
    return ClassType(type_from_text(str(head).partition(":")[2]))


class Examples:
    """A term of each class: with the fewest variables that are free, then the cheapest."""

    def __init__(self, graph: EGraph) -> None:
        """Know nothing; :meth:`update` looks at all classes."""
        self._graph = graph
        self._known: dict[int, tuple[tuple[int, float, int], Term]] = {}

    def update(self) -> None:
        """Find examples again, from the leaves on, until none is better than before."""
        graph, old = self._graph, self._known
        self._known = {}
        for name, entry in old.items():
            self._take(graph.find(name), entry)
        changed = True
        while changed:
            changed = False
            for node in graph.nodes():
                parts = [self._known.get(graph.find(child)) for child in graph.keys[node][1:]]
                if None in parts:
                    continue
                entry = self._of(graph.head_of(node), [part for part in parts if part is not None])
                if self._take(graph.find(node), entry):
                    changed = True

    def _of(
        self, head: Head, parts: list[tuple[tuple[int, float, int], Term]]
    ) -> tuple[tuple[int, float, int], Term]:
        made = term(head, *(part[1] for part in parts))
        facts = term_facts(made)
        turns = 16.0 if head in ("build", "sumbuild") else 1.0
        cost = operator_cost(made) + sum(
            part[0][1] * (turns if is_lam(part[1]) else 1.0) for part in parts
        )
        return (facts.free.bit_count(), cost, facts.nodes), made

    def _take(self, name: int, entry: tuple[tuple[int, float, int], Term]) -> bool:
        known = self._known.get(name)
        if known is not None and known[0] <= entry[0]:
            return False
        self._known[name] = entry
        return True

    def of(self, name: int) -> Term | None:
        """Return the example of a class, None of one that is too new."""
        known = self._known.get(self._graph.find(name))
        return None if known is None else known[1]


class BinderMatcher:
    """Matches rules in an e-graph, and adds what they make."""

    def __init__(self, graph: EGraph, examples: Examples) -> None:
        self._graph, self._examples = graph, examples

    def matches(self, rule: PatternRule, node: int) -> Iterator[Bindings]:
        """Yield the ways in which the source of a rule matches a node."""
        source = rule.source
        if isinstance(source, patterns.OperatorPattern):
            yield from self._node(source, node, {})

    def _node(
        self, pattern: patterns.OperatorPattern, node: int, known: Bindings
    ) -> Iterator[Bindings]:
        children = self._graph.keys[node][1:]
        if self._graph.head_of(node) != pattern.head or len(children) != len(pattern.children):
            return
        waiting = [known]
        for part, child in zip(pattern.children, children, strict=True):
            waiting = [more for each in waiting for more in self._class(part, child, each)]
            if not waiting:
                return
        yield from waiting

    def _class(self, pattern: patterns.Pattern, name: int, known: Bindings) -> Iterator[Bindings]:
        graph = self._graph
        name = graph.find(name)
        match pattern:
            case patterns.Metavariable(metavariable, scope):
                before = known.get(metavariable)
                if before is None:
                    yield {**known, metavariable: (name, scope)}
                elif self._is_same(before, name, scope):
                    yield known
            case patterns.OperatorPattern():
                for node in graph.members[name]:
                    yield from self._node(pattern, node, known)
            case patterns.LambdaPattern(_, body):
                for node in graph.members[name]:
                    if str(graph.head_of(node)) == "lam:Integer":
                        yield from self._class(body, graph.keys[node][1], known)
            case patterns.LiteralPattern(literal):
                if graph.lookup(literal) == name:
                    yield known
            case patterns.BoundPattern(binder, scope):
                index = len(scope) - 1 - scope.index(binder)
                if graph.lookup(term(f"%{index}:Integer")) == name:
                    yield known
            case _:
                return

    def _is_same(
        self, before: tuple[int, patterns.BinderNames], name: int, scope: patterns.BinderNames
    ) -> bool:
        """Whether a class is what a metavariable stands for, as it is written in another scope."""
        if before[1] == scope:
            return self._graph.find(before[0]) == name
        example = self._examples.of(before[0])
        moved = None if example is None else patterns.change_scope(example, before[1], scope)
        return moved is not None and self._graph.lookup(moved) == name

    def apply(self, rule: PatternRule, known: Bindings) -> int | None:
        """Return the class of what a rule makes of a match; None where it does not apply."""
        match = self._as_terms(known)
        if rule.conditions:
            if match is None or not all(each.holds(match) for each in rule.conditions):
                return None
        try:
            return self._made(rule.target, known, match)
        except (Inadmissible, IllTypedError):
            return None

    def _as_terms(self, known: Bindings) -> patterns.PatternMatch | None:
        bindings: dict[str, tuple[Term, patterns.BinderNames]] = {}
        binder_types: dict[str, Type] = {}
        for name, (at, scope) in known.items():
            example = self._examples.of(at)
            if example is None:
                return None
            bindings[name] = example, scope
            binder_types.update(dict.fromkeys(scope, INTEGER))
        return patterns.PatternMatch(bindings, binder_types)

    def _made(
        self,
        pattern: patterns.Pattern,
        known: Bindings,
        match: patterns.PatternMatch | None,
        scope: patterns.BinderNames = (),
    ) -> int | None:
        """Return the class of a target; what moves is one term."""
        graph = self._graph
        match pattern:
            case patterns.Metavariable(name, where) if known[name][1] == where:
                return known[name][0]
            case patterns.OperatorPattern(head, children):
                made: list[int] = []
                for child in children:
                    part = self._made(child, known, match, scope)
                    if part is None:
                        return None
                    made.append(part)
                return graph.add(head, made)
            case patterns.LambdaPattern(name, body):
                inner = self._made(body, known, match, (*scope, name))
                return None if inner is None else graph.add("lam:Integer", [inner])
            case _:
                if match is None:
                    return None
                kinds = (INTEGER,) * len(scope)
                written = patterns.instantiate(pattern, match, kinds)
                return None if written is None else graph.add_term(inline_lets(written))
