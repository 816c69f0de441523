"""One substitution at one place of a term: a match of a rule, and the term with its target there.

A term is a graph, since equal parts are one node, and a place is a node: wherever it is used, its
substitute is used instead. Nodes that are not above the place stay what they are; the others are
made again, from the place up. A rule with several sources replaces several nodes at once. Then a
part that a target takes over may itself contain a replaced node, and has the substitute instead; if
that makes a node need itself, there is no such term.

    >>> from polygym.rewrite.expressions import parse_term, text_of
    >>> from polygym.rewrite.plain import Plain
    >>> from polygym.rewrite.rule import parse_rules
    >>> rules = parse_rules("twice: (add ?x ?x) => (mul 2 ?x)")
    >>> root, domain = parse_term("(f (add (add a a) (add a a)))"), Plain()
    >>> for match in matches(root, rules, domain):
    ...     print(text_of(match.where[0]), "|", text_of(apply(root, match, domain)))
    (add a a) | (f (add (mul 2 a) (mul 2 a)))
    (add (add a a) (add a a)) | (f (mul 2 (add a a)))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polygym.lru import Memory
from polygym.rewrite.domain import Domain
from polygym.rewrite.joins import join_of
from polygym.rewrite.prospects import Prospects
from polygym.rewrite.rule import Rule
from polygym.rewrite.shapes import Finder, Operator, builder_of, operator_of
from polygym.rewrite.term import Term, postorder, term
from polygym.rewrite.typed import REFUSED, Types, types_of

__all__ = ["Match", "Places", "apply", "matches"]


@dataclass(frozen=True, slots=True)
class Match:
    """A rule, the nodes that its sources are, and what its variables are."""

    rule: Rule
    where: tuple[Term, ...]
    binding: tuple[Term, ...]
    """The rule's variables, in the order in which they first appear in the sources."""


def matches(root: Term, rules: Sequence[Rule], domain: Domain | Types) -> list[Match]:
    """Return where rules apply: by rule, then from the leaves of the term up, from the left.

    Conditions hold, targets make sense, and the domain agrees that they can equal the sources.
    """
    return _places(root, types_of(domain)).matches(rules)


def apply(root: Term, match: Match, domain: Domain | Types) -> Term | None:
    """Return the term with the targets in the places of a match's sources.

    None if a node would need itself, or if a node above the place makes no sense any more.
    """
    return _places(root, types_of(domain)).apply(match)


class Places:
    """The nodes of a term, sorted once for all its matches and substitutions."""

    def __init__(self, root: Term, types: Types) -> None:
        """Sort the nodes by operator."""
        self.root = root
        self.types = types
        self.nodes = list(postorder([root]))
        """The nodes, children first."""
        self._by_operator: dict[Operator, list[Term]] = {}
        for one in self.nodes:
            self._by_operator.setdefault(operator_of(one), []).append(one)
        self._users: dict[Term, list[Term]] = {}
        self._order: dict[Term, int] = {}

    def matches(self, rules: Sequence[Rule]) -> list[Match]:
        """Return where rules apply, in a certain order."""
        types, found = self.types, list[Match]()
        searched: dict[Term, list[tuple[Term, ...]]] = {}
        for rule in rules:
            recipe = recipe_of(rule, types)
            sources = []
            for pattern, finder in zip(recipe.join.patterns, recipe.finders, strict=True):
                if pattern not in searched:
                    nodes = self._by_operator.get(finder.operator, ())
                    searched[pattern] = finder.matches(nodes) if nodes else []
                sources.append(searched[pattern])
                if not sources[-1]:
                    break
            else:
                rows = recipe.join.rows(sources) if rule.is_multiple else sources[0]
                count = len(sources)
                for row in rows:
                    where, binding = row[:count], row[count:]
                    if self._holds(recipe, where, binding):
                        found.append(Match(rule, where, binding))
        return found

    def apply(self, match: Match) -> Term | None:
        """Return the term with the targets in the places of a match's sources, None if none is."""
        types, recipe = self.types, recipe_of(match.rule, self.types)
        prospect = recipe.prospects.of(tuple(map(types.number_of, match.binding)))
        if prospect is None:
            return None
        literals = [term(types.heads[one]) for one in prospect[: len(recipe.prospects.computed)]]
        above = self._above(match.where)
        moved = above.union(match.where) if len(match.where) > 1 else above
        if all(
            match.binding[leaf] not in moved for leaves in recipe.leaves for leaf in leaves
        ):  # no target takes over what is replaced
            made = {
                source: build(match.binding, literals)
                for source, build in zip(match.where, recipe.builders, strict=True)
            }
            for one in sorted(above, key=self._order.__getitem__):
                made[one] = term(one.head, *[made.get(child, child) for child in one.children])
        else:
            several = self._several(recipe, match, literals, above)
            if several is None:
                return None
            made = several
        new = made.get(self.root, self.root)
        targets = prospect[len(literals) :]
        if (
            any(
                types.number_of(source) != target
                for source, target in zip(match.where, targets, strict=True)
            )
            and types.number_of(new) == REFUSED
        ):
            return None
        return new

    def _holds(self, recipe: Recipe, where: tuple[Term, ...], binding: tuple[Term, ...]) -> bool:
        types, number_of = self.types, self.types.number_of
        prospect = recipe.prospects.of(tuple([number_of(one) for one in binding]))
        if prospect is None:
            return False
        targets = prospect[len(prospect) - len(where) :]
        return all(
            types.join(number_of(source), target) != REFUSED
            for source, target in zip(where, targets, strict=True)
        )

    def _above(self, where: tuple[Term, ...]) -> set[Term]:
        """Return the nodes that need one of some, and are none of them."""
        users = self._users
        if not self._order:
            for place, one in enumerate(self.nodes):
                self._order[one] = place
                users[one] = []
                for child in one.children:
                    users[child].append(one)
        above: set[Term] = set()
        stack = list(where)
        while stack:
            for user in users[stack.pop()]:
                if user not in above:
                    above.add(user)
                    stack.append(user)
        return above.difference(where) if len(where) > 1 else above

    def _several(
        self, recipe: Recipe, match: Match, literals: list[Term], above: set[Term]
    ) -> dict[Term, Term] | None:
        """Return what the nodes become that the root needs, None if one needs itself."""
        sources = {source: place for place, source in enumerate(match.where)}
        made: dict[Term, Term] = {}
        begun: set[Term] = set()
        stack = [self.root]
        while stack:
            one = stack[-1]
            place = sources.get(one)
            if one in made:
                stack.pop()
                continue
            if place is None and one not in above:
                made[stack.pop()] = one
                continue
            needed = (
                one.children
                if place is None
                else [match.binding[leaf] for leaf in recipe.leaves[place]]
            )
            missing = [child for child in needed if child not in made]
            if missing:
                begun.add(one)
                if not begun.isdisjoint(missing):
                    return None
                stack += missing
                continue
            stack.pop()
            begun.discard(one)
            if place is None:
                made[one] = term(one.head, *[made[child] for child in one.children])
            else:
                values = tuple([made.get(value, value) for value in match.binding])
                made[one] = recipe.builders[place](values, literals)
        return made


class Recipe:
    """A rule, compiled for terms of a domain."""

    def __init__(self, rule: Rule, types: Types) -> None:
        """Compile a rule."""
        self.join = join_of(rule)
        self.prospects = Prospects(rule, types)
        names, computed = self.prospects.variables, self.prospects.computed
        self.finders = [_finder(source, types) for source in self.join.patterns]
        self.builders = [builder_of(target, names, computed) for target in rule.targets]
        self.leaves = self.prospects.leaves


def recipe_of(rule: Rule, types: Types) -> Recipe:
    """Return a rule compiled, made once for a domain."""
    found = types.recipes.get(rule)
    if not isinstance(found, Recipe):
        found = types.recipes[rule] = Recipe(rule, types)
    return found


def _finder(source: Term, types: Types) -> Finder:
    found = types.recipes.get(source)
    if not isinstance(found, Finder):
        found = types.recipes[source] = Finder(source)
    return found


_LATEST: Memory[tuple[int, Term], Places] = Memory(8)


def _places(root: Term, types: Types) -> Places:
    return _LATEST.get((id(types), root), lambda: Places(root, types))
