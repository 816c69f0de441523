"""All rewrites of a term, found once for each of its nodes.

A rewrite has a *place*: the way down to the node that changes, as numbers of children, ``()`` for
the whole term. Of :class:`~polygym.terms.rules.rule_types.BindRule` and ``LiftRule`` it is the part
that is bound, or the ``let`` that is lifted; what changes is the node above it.

Terms are values that do not know what is around them, so what a node can become is the same
wherever it stands, and is remembered: the rewrites at the node itself, and those below it, in which
one child is another one. Rewriting a term makes new nodes on the way up to the root alone; all
others have their rewrites already. The order is: at the node, then child by child, binding,
lifting, what is below.

    >>> from polygym.terms.language.printer import text_of
    >>> from polygym.terms.language.parser import parse_program
    >>> from polygym.terms.rules.rule_table import rules_named
    >>> rewriter = Rewriter(rules_named("simple"))
    >>> start = parse_program("(add (mul x y) (mul x 3))").body
    >>> for step in rewriter.steps(start):
    ...     print(step.rule.name, step.position, text_of(rewriter.after(start, step)))
    add-commutes () (add (mul x 3.0) (mul x y))
    factor-add () (mul x (add y 3.0))
    bind (0,) (add (let (t1 (mul x y)) t1) (mul x 3.0))
    mul-commutes (0,) (add (mul y x) (mul x 3.0))
    bind (1,) (add (mul x y) (let (t1 (mul x 3.0)) t1))
    mul-commutes (1,) (add (mul x y) (mul 3.0 x))

Terms under rules, as the searches of :mod:`polygym.search.planning` take them.

>>> from polygym.search.planning import search
>>> from polygym.terms.language.printer import text_of
>>> from polygym.terms.language.parser import parse_program
>>> from polygym.terms.sharing_value import SharingValue
>>> system = TermSystem(rules_named("simple"))
>>> start = parse_program("(mul (div (mul 2.0 (add x y)) (sub (add x y) 1)) (mul x y))").body
>>> found = search("astar", system, start, value=SharingValue())
>>> found.initial_cost, found.cost, text_of(found.best)
(11.0, 10.1, '(mul (let (t1 (add x y)) (div (mul 2.0 t1) (sub t1 1.0))) (mul x y))')
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

from polygym.errors import InputError, LimitError
from polygym.pickling import pickle_by_name
from polygym.rewrite.term import Term, memoized_value, term
from polygym.terms.cost import StaticCost, TermCost
from polygym.terms.language.nodes import is_lam, term_facts
from polygym.terms.rules import patterns
from polygym.terms.rules.compiled_rules import RuleFunction, compile_rule
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.rules.rule_types import (
    BindRule,
    LiftRule,
    PatternRule,
    SelectRule,
    TermRule,
    apply_rule,
    bind_child,
    by_head,
    lift_let,
    may_bind,
    may_lift,
)

Position: TypeAlias = tuple[int, ...]

_SMALL = 600
_MOST = 2_000_000
_LARGEST = 200_000


@pickle_by_name
@dataclass(frozen=True, slots=True)
class RewriteStep:
    """A rule at a place of a term."""

    rule: TermRule
    position: Position

    def __str__(self) -> str:
        """Return the name and the place: ``inline at 0.1``."""
        return f"{self.rule.name} at {'.'.join(map(str, self.position)) or 'root'}"


class Rewriter:
    """Rewrites terms by a set of rules; remembers what nodes can become."""

    def __init__(self, rules: Sequence[TermRule]) -> None:
        """Know nothing of terms yet."""
        self.rules = tuple(rules)
        self.numbers = {rule.name: number for number, rule in enumerate(self.rules)}
        self._binding = next((rule for rule in self.rules if isinstance(rule, BindRule)), None)
        self._lifting = next((rule for rule in self.rules if isinstance(rule, LiftRule)), None)
        self._by_head = by_head(self.rules)
        self._work: dict[str, RuleFunction] = {
            rule.name: compile_rule(rule) for several in self._by_head.values() for rule in several
        }
        self._ruled = frozenset(self.rules)
        self._by_children: dict[tuple[object, ...], tuple[PatternRule | SelectRule, ...]] = {}
        self._own: dict[Term, tuple[tuple[PatternRule | SelectRule, Term], ...]] = {}
        self._links: dict[Term, tuple[tuple[tuple[TermRule, Term], ...], ...]] = {}
        self._offers: dict[Term, tuple[tuple[tuple[int, int], ...], ...]] = {}
        self._counts: dict[Term, int] = {}
        self._results: dict[Term, list[Term]] = {}
        self._kept = 0

    def successors(self, root: Term) -> Sequence[Term]:
        """Return what a term can become in one step, in the order of :meth:`steps`.

        Two steps that come to the same are both in it. Those of a large term are made when they are
        asked for.

        Raises:
            LimitError: the term is too large for all of them to be made.
        """
        terms = self._results.get(root)
        if terms is not None:
            return terms
        if term_facts(root).nodes <= _SMALL:
            return self._all(root)
        return _LazySuccessors(self, root)

    def count(self, root: Term) -> int:
        """Return how many rewrites there are, without making them.

        Raises:
            LimitError: the term is too large to look at all of it.
        """
        result = self._counts.get(root)
        if result is not None:
            return result
        if term_facts(root).nodes > _LARGEST:
            raise LimitError(f"rewrites of a term: expected at most {_LARGEST} nodes, found more")
        return memoized_value(root, self._counts, self._counted)

    def _counted(self, node: Term) -> int:
        below = sum(self._counts[child] for child in node.children)
        return below + sum(map(len, self.applicable_rules(node)))

    def steps(self, root: Term) -> Iterator[RewriteStep]:
        """Yield the rules and places at which a term can be rewritten."""
        stack: list[tuple[Term, Position] | RewriteStep] = [(root, ())]
        while stack:
            item = stack.pop()
            if isinstance(item, RewriteStep):
                yield item
                continue
            node, place = item
            for rule, _ in self._at(node):
                yield RewriteStep(rule, place)
            later: list[tuple[Term, Position] | RewriteStep] = []
            for at, child in enumerate(node.children):
                inner = (*place, at)
                later += [RewriteStep(rule, inner) for rule, _ in self._links_of(node)[at]]
                if child.children:
                    later.append((child, inner))
            stack.extend(reversed(later))

    def step(self, root: Term, number: int) -> RewriteStep:
        """Return the step that leads to the successor of this number, without making others."""
        self.count(root)
        place: list[int] = []
        node = root
        while True:
            own = self._at(node)
            if number < len(own):
                return RewriteStep(own[number][0], tuple(place))
            number -= len(own)
            for at, child in enumerate(node.children):
                around = self._links_of(node)[at]
                if number < len(around):
                    return RewriteStep(around[number][0], (*place, at))
                number -= len(around)
                below = self.count(child) if child.children else 0
                if number < below:
                    node = child
                    place.append(at)
                    break
                number -= below
            else:
                raise InputError(f"a step: expected one of those that there are, found {number}")

    def step_named(self, text: str) -> RewriteStep:
        """Return the step that a text such as ``inline at 0.1`` names.

        Raises:
            InputError: there is no such rule, or this is no place.
        """
        name, _, where = text.partition(" at ")
        if name not in self.numbers:
            raise InputError(f"a step: expected a rule of the set, found {name!r}")
        words = [] if where == "root" else where.split(".")
        if not all(word.isdigit() for word in words) or not where:
            raise InputError(f"a step: expected a place such as root or 0.1, found {where!r}")
        return RewriteStep(self.rules[self.numbers[name]], tuple(map(int, words)))

    def after(self, root: Term, step: RewriteStep) -> Term:
        """Return the term after a step.

        Raises:
            InputError: the rule does not apply there; says why as far as that is known.
        """
        path, place = [root], step.position
        for at in place:
            if at >= len(path[-1].children):
                raise InputError(f"{step}: expected a place of the term, found none there")
            path.append(path[-1].children[at])
        made: Term | None
        rule = step.rule
        if isinstance(rule, BindRule | LiftRule):
            if not place:
                raise InputError(f"{step}: expected a part of the term, found all of it")
            work = bind_child if isinstance(rule, BindRule) else lift_let
            made, place = work(path[-2], place[-1]), place[:-1]
        elif rule in self._ruled:
            made = next((result for own, result in self._at(path[-1]) if own is rule), None)
        else:
            made = apply_rule(rule, path[-1])
        if made is None:
            raise InputError(f"{step}: expected {rule} to apply there; it does not")
        return replace_subterm(root, place, made)

    def _at(self, node: Term) -> tuple[tuple[PatternRule | SelectRule, Term], ...]:
        """Return the rules that apply at a node itself, and what they make of it."""
        own = self._own.get(node)
        if own is None:
            made = []
            for rule in self._candidates(node):
                result = self._work[rule.name](node)
                if result is not None:
                    made.append((rule, result))
            own = self._own[node] = tuple(made)
            self._keep(1)
        return own

    def _candidates(self, node: Term) -> tuple[PatternRule | SelectRule, ...]:
        """Return the rules that may apply to a node, by what it and its children are."""
        key = (node.head, *[child.head if child.children else child for child in node.children])
        pattern_rules = self._by_children.get(key)
        if pattern_rules is None:
            rules = self._by_head.get(str(node.head).partition(":")[0], ())
            pattern_rules = tuple(rule for rule in rules if _may_apply(rule, node))
            self._by_children[key] = pattern_rules
        return pattern_rules

    def _links_of(self, parent: Term) -> tuple[tuple[tuple[TermRule, Term], ...], ...]:
        known = self._links.get(parent)
        if known is None:
            made: list[tuple[tuple[TermRule, Term], ...]] = []
            for place in range(len(parent.children)):
                links: list[tuple[TermRule, Term]] = []
                if self._binding is not None and (result := bind_child(parent, place)) is not None:
                    links.append((self._binding, result))
                if self._lifting is not None and (result := lift_let(parent, place)) is not None:
                    links.append((self._lifting, result))
                made.append(tuple(links))
            known = self._links[parent] = tuple(made)
            self._keep(1)
        return known

    def applicable_rules(self, node: Term) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Return what applies at a node, and then between it and each child, without doing it.

        Each is a rule's number and how many nodes more there are afterwards.
        """
        result = self._offers.get(node)
        if result is None:
            nodes, numbers = term_facts(node).nodes, self.numbers
            offers = [
                [
                    (numbers[rule.name], term_facts(made).nodes - nodes)
                    for rule, made in self._at(node)
                ]
            ]
            for place in range(len(node.children)):
                offers.append([])
                if self._binding is not None and may_bind(node, place):
                    offers[-1].append((numbers[self._binding.name], 2))
                if self._lifting is not None and may_lift(node, place):
                    offers[-1].append((numbers[self._lifting.name], 0))
            result = self._offers[node] = tuple(map(tuple, offers))
        return result

    def _all(self, root: Term) -> list[Term]:
        """Make the lists of a term and of its parts that have none, from below."""
        known = self._results
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [child for child in node.children if child.children and child not in known]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if node not in known:
                known[node] = self._joined(node)
        terms = known[root]
        self._keep(len(terms))
        return terms

    def _joined(self, node: Term) -> list[Term]:
        terms = [result for _, result in self._at(node)]
        head, children = node.head, node.children
        for at, child in enumerate(children):
            if not child.children:
                continue
            terms += [result for _, result in self._links_of(node)[at]]
            below = self._results[child]
            if len(children) == 1:
                terms += [term(head, other) for other in below]
            elif len(children) == 2:
                beside = children[1 - at]
                if at == 0:
                    terms += [term(head, other, beside) for other in below]
                else:
                    terms += [term(head, beside, other) for other in below]
            else:
                left, right = children[:at], children[at + 1 :]
                terms += [term(head, *left, other, *right) for other in below]
        return terms

    def _keep(self, count: int) -> None:
        """Forget everything where too much would be remembered."""
        self._kept += count
        if self._kept > _MOST:
            memos: tuple[dict[Any, Any], ...] = (self._own, self._by_children, self._links)
            for memo in (*memos, self._offers, self._counts, self._results):
                memo.clear()
            self._kept = 0


class _LazySuccessors(Sequence[Term]):
    """What a large term can become; a rewrite makes as many nodes as its place is deep."""

    def __init__(self, rewriter: Rewriter, root: Term) -> None:
        self._rewriter, self._root = rewriter, root

    def __len__(self) -> int:
        return self._rewriter.count(self._root)

    @overload
    def __getitem__(self, number: int) -> Term: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Term]: ...
    def __getitem__(self, number: int | slice) -> Term | Sequence[Term]:
        if isinstance(number, slice):
            return [self[at] for at in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._rewriter.after(self._root, self._rewriter.step(self._root, number))


def _may_apply(rule: PatternRule | SelectRule, node: Term) -> bool:
    """Whether a node's children are such as a source has; what is below them is not looked at."""
    if isinstance(rule, SelectRule):
        return node.children[1].head == "tuple"
    source = rule.source
    if not isinstance(source, patterns.OperatorPattern):
        return True
    return len(source.children) == len(node.children) and all(
        _may_match(part, child) for part, child in zip(source.children, node.children, strict=True)
    )


def _may_match(pattern: patterns.Pattern, node: Term) -> bool:
    match pattern:
        case patterns.LiteralPattern(literal):
            return node is literal
        case patterns.OperatorPattern(head, _):
            return node.head == head
        case patterns.LetPattern():
            return node.head == "let"
        case patterns.LambdaPattern():
            return is_lam(node)
        case _:
            return True


def subterm_at(root: Term, position: Position) -> Term:
    """Return the part of a term at a place."""
    for at in position:
        root = root.children[at]
    return root


def replace_subterm(root: Term, place: Position, part: Term) -> Term:
    """Return a term with another part at a place."""
    path = [root]
    for at in place:
        path.append(path[-1].children[at])
    for at, parent in zip(reversed(place), reversed(path[:-1]), strict=True):
        part = term(parent.head, *parent.children[:at], part, *parent.children[at + 1 :])
    return part


class TermSystem:
    """What terms become by a set of rules, and what they cost."""

    def __init__(
        self,
        rules: Sequence[TermRule] | None = None,
        cost: TermCost | None = None,
        rewriter: Rewriter | None = None,
    ) -> None:
        """Take the rules of Table 3 and the static cost, if nothing else is said.

        A rewriter may be shared: it has rules of its own, and remembers what it has found.
        """
        if rewriter is None:
            rewriter = Rewriter(rules_named("simple") if rules is None else rules)
        self.rewriter = rewriter
        self._cost: TermCost = StaticCost() if cost is None else cost

    def successors(self, state: Term) -> Sequence[Term]:
        """Return what a term can become in one step."""
        return self.rewriter.successors(state)

    def cost(self, state: Term) -> float:
        """Return what a term costs."""
        return self._cost(state)

    def key(self, state: Term) -> Hashable:
        """Return the term: equal ones are one object."""
        return state

    def features(self, state: Term) -> Term:
        """Return the term itself."""
        return state


def topmost(root: Term, holds: Callable[[Term], bool]) -> Iterator[Position]:
    """Yield the places of the parts of which something holds, and of nothing that they are in."""
    stack: list[tuple[Term, Position]] = [(root, ())]
    while stack:
        part, place = stack.pop()
        if holds(part):
            yield place
        else:
            children = reversed([*enumerate(part.children)])
            stack += [(child, (*place, at)) for at, child in children]
