"""One substitution at one place of a term: a match of a rule, and the term with its target there.

A term is a graph, since equal parts are one node, and a place is a node: wherever it is used, its
substitute is used instead. Nodes that are not above the place stay what they are; the others are
made again, from the place up. A rule with several sources replaces several nodes at once. Then a
part that a target takes over may itself contain a replaced node, and has the substitute instead; if
that makes a node need itself, there is no such term.

    >>> from polygym.rewrite.s_expressions import parse_term, term_text
    >>> from polygym.rewrite.domain import TrivialDomain
    >>> from polygym.rewrite.rule import parse_rules
    >>> rules = parse_rules("twice: (add ?x ?x) => (mul 2 ?x)")
    >>> root, domain = parse_term("(f (add (add a a) (add a a)))"), TrivialDomain()
    >>> for match in find_matches(root, rules, domain):
    ...     print(term_text(match.nodes[0]), "|", term_text(apply_match(root, match, domain)))
    (add a a) | (f (add (mul 2 a) (mul 2 a)))
    (add (add a a) (add a a)) | (f (mul 2 (add a a)))

Patterns of terms, compiled: what stands at a node, and what is put there.

A pattern becomes Python source, a loop over the nodes with its head; inside, a comparison for each
of its nodes. A match is a tuple: the node, then what the variables are, in the order in which they
first appear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from polygym.lru_cache import LruCache
from polygym.rewrite.applicability import RuleApplicability, rule_join
from polygym.rewrite.domain import REFUSED, Domain, TypeTable, type_table
from polygym.rewrite.rule import Rule
from polygym.rewrite.term import Head, Term, is_variable, postorder, term, variable_names

OperatorKey: TypeAlias = tuple[type, Head, int]


def operator_key(node: Term) -> OperatorKey:
    """Return what nodes have to have in common for a pattern: the head and how many children."""
    return (node.head.__class__, node.head, len(node.children))


class TermPattern:
    """A pattern, compiled.

    >>> from polygym.rewrite.s_expressions import parse_term, term_text
    >>> finder = TermPattern(parse_term("(f ?x (g ?x))"))
    >>> one, other = parse_term("(f a (g a))"), parse_term("(f a (g b))")
    >>> [term_text(part) for part in finder.matches([one, other])[0]]
    ['(f a (g a))', 'a']
    """

    def __init__(self, source: Term, _: TypeTable | None = None) -> None:
        """Compile a pattern."""
        self.operator = operator_key(source)
        self._names: dict[str, Any] = {}
        self._bound: dict[str, str] = {}
        lines = ["def search(nodes, append):", "    for root in nodes:"]
        lines += ["        " + line for line in self._checks(source)]
        values = "".join(f"{self._bound[name]}, " for name in variable_names([source]))
        lines.append(f"        append((root, {values}))")
        exec(compile("\n".join(lines) + "\n", f"<pattern {source.head}>", "exec"), self._names)
        self._search: Callable[[Iterable[Term], Any], None] = self._names["search"]

    def matches(self, nodes: Iterable[Term]) -> list[tuple[Term, ...]]:
        """Return the matches at nodes that have the pattern's operator."""
        terms: list[tuple[Term, ...]] = []
        self._search(nodes, terms.append)
        return terms

    def _checks(self, source: Term) -> list[str]:
        lines: list[str] = []
        todo = [(source, "root")]
        count = 0
        while todo:
            node, name = todo.pop(0)
            if node.children:
                children = [f"part{count + at}" for at in range(len(node.children))]
                count += len(children)
                lines.append(f"{', '.join(children)}, = {name}.children")
            else:
                children = []
            inner: list[tuple[Term, str]] = []
            for child, part in zip(node.children, children, strict=True):
                if is_variable(child):
                    known = self._bound.setdefault(str(child.head), part)
                    if known != part:
                        lines.append(f"if {part} is not {known}: continue")
                elif not variable_names([child]):
                    constant = f"constant{len(self._names)}"
                    self._names[constant] = child
                    lines.append(f"if {part} is not {constant}: continue")
                else:
                    lines.append(
                        f"if {part}.head != {child.head!r} or "
                        f"len({part}.children) != {len(child.children)}: continue"
                    )
                    if not isinstance(child.head, str):
                        lines.append(
                            f"if {part}.head.__class__ is not {type(child.head).__name__}: continue"
                        )
                    inner.append((child, part))
            todo += inner
        return lines


def target_builder(
    target: Term, names: tuple[str, ...], computed: tuple[Term, ...]
) -> Callable[[tuple[Term, ...], list[Term]], Term]:
    """Return a function that makes a target of what variables and computed literals are.

    >>> from polygym.rewrite.s_expressions import parse_term, term_text
    >>> build = target_builder(parse_term("(f ?y (g ?x))"), ("?x", "?y"), ())
    >>> term_text(build((term("a"), term("b")), []))
    '(f b (g a))'
    """
    known: dict[str, Any] = {"term": term}
    made: dict[Term, str] = {}
    lines = ["def build(values, literals):"]
    for node in postorder([target]):
        if is_variable(node):
            made[node] = f"values[{names.index(str(node.head))}]"
        elif node in computed:
            made[node] = f"literals[{computed.index(node)}]"
        elif not variable_names([node]):
            made[node] = f"constant{len(known)}"
            known[made[node]] = node
        else:
            made[node] = f"made{len(made)}"
            children = "".join(f", {made[child]}" for child in node.children)
            lines.append(f"    {made[node]} = term({node.head!r}{children})")
    lines.append(f"    return {made[target]}")
    exec(compile("\n".join(lines) + "\n", f"<target {target.head}>", "exec"), known)
    build: Callable[[tuple[Term, ...], list[Term]], Term] = known["build"]
    return build


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A rule, the nodes that its sources are, and what its variables are."""

    rule: Rule
    nodes: tuple[Term, ...]
    binding: tuple[Term, ...]
    """The rule's variables, in the order in which they first appear in the sources."""


def find_matches(root: Term, rules: Sequence[Rule], domain: Domain | TypeTable) -> list[RuleMatch]:
    """Return where rules apply: by rule, then from the leaves of the term up, from the left.

    Conditions hold, targets make sense, and the domain agrees that they can equal the sources.
    """
    return _term_index(root, type_table(domain)).matches(rules)


def apply_match(root: Term, match: RuleMatch, domain: Domain | TypeTable) -> Term | None:
    """Return the term with the targets in the places of a match's sources.

    None if a node would need itself, or if a node above the place makes no sense any more.
    """
    return _term_index(root, type_table(domain)).apply(match)


class TermIndex:
    """The nodes of a term, sorted once for all its matches and substitutions."""

    def __init__(self, root: Term, types: TypeTable) -> None:
        """Sort the nodes by operator."""
        self.root = root
        self.types = types
        self.nodes = list(postorder([root]))
        """The nodes, children first."""
        self._by_operator: dict[OperatorKey, list[Term]] = {}
        for node in self.nodes:
            self._by_operator.setdefault(operator_key(node), []).append(node)
        self._users: dict[Term, list[Term]] = {}
        self._order: dict[Term, int] = {}

    def matches(self, rules: Sequence[Rule]) -> list[RuleMatch]:
        """Return where rules apply, in a certain order."""
        types, rule_matches = self.types, list[RuleMatch]()
        searched: dict[Term, list[tuple[Term, ...]]] = {}
        for rule in rules:
            recipe = types.compiled(CompiledTermRule, rule)
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
                        rule_matches.append(RuleMatch(rule, where, binding))
        return rule_matches

    def apply(self, match: RuleMatch) -> Term | None:
        """Return the term with the targets in the places of a match's sources, None if none is."""
        types, recipe = self.types, self.types.compiled(CompiledTermRule, match.rule)
        prospect = recipe.prospects.of(tuple(map(types.number_of, match.binding)))
        if prospect is None:
            return None
        literals = [term(types.heads[head]) for head in prospect[: len(recipe.prospects.computed)]]
        above = self._above(match.nodes)
        moved = above.union(match.nodes) if len(match.nodes) > 1 else above
        if all(
            match.binding[leaf] not in moved for leaves in recipe.leaves for leaf in leaves
        ):  # no target takes over what is replaced
            made = {
                source: build(match.binding, literals)
                for source, build in zip(match.nodes, recipe.builders, strict=True)
            }
            for node in sorted(above, key=self._order.__getitem__):
                made[node] = term(node.head, *[made.get(child, child) for child in node.children])
        else:
            several = self._several(recipe, match, literals, above)
            if several is None:
                return None
            made = several
        new = made.get(self.root, self.root)
        is_same = tuple(map(types.number_of, match.nodes)) == prospect[len(literals) :]
        return new if is_same or types.number_of(new) != REFUSED else None

    def _holds(
        self, recipe: CompiledTermRule, where: tuple[Term, ...], binding: tuple[Term, ...]
    ) -> bool:
        types, number_of = self.types, self.types.number_of
        prospect = recipe.prospects.of(tuple([number_of(value) for value in binding]))
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
            for place, node in enumerate(self.nodes):
                self._order[node] = place
                users[node] = []
                for child in node.children:
                    users[child].append(node)
        above: set[Term] = set()
        stack = list(where)
        while stack:
            for user in users[stack.pop()]:
                if user not in above:
                    above.add(user)
                    stack.append(user)
        return above.difference(where) if len(where) > 1 else above

    def _several(
        self, recipe: CompiledTermRule, match: RuleMatch, literals: list[Term], above: set[Term]
    ) -> dict[Term, Term] | None:
        """Return what the nodes become that the root needs, None if one needs itself."""
        sources = {source: place for place, source in enumerate(match.nodes)}
        made: dict[Term, Term] = {}
        begun: set[Term] = set()
        stack = [self.root]
        while stack:
            node = stack[-1]
            place = sources.get(node)
            if node in made:
                stack.pop()
                continue
            if place is None and node not in above:
                made[stack.pop()] = node
                continue
            needed = (
                node.children
                if place is None
                else [match.binding[leaf] for leaf in recipe.leaves[place]]
            )
            missing = [child for child in needed if child not in made]
            if missing:
                begun.add(node)
                if not begun.isdisjoint(missing):
                    return None
                stack += missing
                continue
            stack.pop()
            begun.discard(node)
            if place is None:
                made[node] = term(node.head, *[made[child] for child in node.children])
            else:
                values = tuple([made.get(value, value) for value in match.binding])
                made[node] = recipe.builders[place](values, literals)
        return made


class CompiledTermRule:
    """A rule, compiled for terms of a domain."""

    def __init__(self, rule: Rule, types: TypeTable) -> None:
        """Compile a rule."""
        self.join = rule_join(rule)
        self.prospects = RuleApplicability(rule, types)
        names, computed = self.prospects.variables, self.prospects.computed
        self.finders = [types.compiled(TermPattern, source) for source in self.join.patterns]
        self.builders = [target_builder(target, names, computed) for target in rule.targets]
        self.leaves = self.prospects.leaves


_INDEX_CACHE: LruCache[tuple[int, Term], TermIndex] = LruCache(8)


def _term_index(root: Term, types: TypeTable) -> TermIndex:
    return _INDEX_CACHE.get((id(types), root), lambda: TermIndex(root, types))
