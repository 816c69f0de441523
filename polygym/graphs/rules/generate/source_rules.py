"""Rules with one source: from pairs of terms of equal value to what does not follow from others.

Rules with two sources: products that share an argument, found as the halves of one.

Every term with a concatenation inside is split along every axis at every place; where both halves
have values that were met before, the terms that had them are the sources. Those count that share a
variable, as two products of one input do.
"""

from collections.abc import Callable, Iterator

import numpy as np

from polygym.graphs.ir.build import make_node
from polygym.graphs.operators.definition import Array
from polygym.graphs.operators.types import Data
from polygym.graphs.rules import RuleKey, canonical_key
from polygym.graphs.rules.generate.enumeration import (
    EnumeratedTerm,
    TermEnumeration,
    Vocabulary,
    fingerprint,
)
from polygym.graphs.rules.generate.generalization import generalize
from polygym.graphs.rules.generate.rule_table import are_underivable, instantiate, is_derivable
from polygym.rewrite.rule import Rule
from polygym.rewrite.s_expressions import term_text
from polygym.rewrite.term import Term, postorder, size, substitute, term, variable_names

_BATCH = 400
_REFILTER_EVERY = 6

Equation = tuple[Term, Term]


def equations(world: Vocabulary, terms: TermEnumeration) -> list[Equation]:
    """Return what was found, each once up to names of variables, the smallest first."""
    result: dict[Equation, None] = {}
    for left, right in terms.candidates:
        result[_canonical(world, left, right)] = None
    return sorted(result, key=_order_key)


def one_source_rules(
    world: Vocabulary,
    terms: TermEnumeration,
    known: list[Rule],
    seed: int,
    progress: Callable[[str], None],
    is_late: Callable[[], bool],
) -> list[Rule]:
    """Return rules of a world that do not follow from those known and from each other."""
    binding: dict[str, Data] = dict(world.data())
    result: list[Rule] = []
    todo = _underivable(equations(world, terms), known, binding)
    progress(f"{world.name}: {terms.count} terms, {len(todo)} equations that do not follow")
    fresh = 0
    while todo and not is_late():
        left, right = todo.pop(0)
        rules = known + result
        if fresh and is_derivable(instantiate(left, binding), instantiate(right, binding), rules):
            continue
        made = _rules_both_ways(left, right, binding, seed)
        if not made:
            continue
        for rule in made:
            named = _with_name(rule, {other.name for other in known + result})
            result.append(named)
            progress(f"{world.name}: {named}")
        fresh += 1
        if fresh % _REFILTER_EVERY == 0:
            todo = _underivable(todo, known + result, binding)
    return result


def _rules_both_ways(left: Term, right: Term, binding: dict[str, Data], seed: int) -> list[Rule]:
    both = ((left, right), (right, left))
    made: dict[RuleKey, Rule] = {}
    # What is said of one thing given twice is seldom worth conditions.
    plain = not _repeats_operand(left, right)
    for source, other in both:
        rule = generalize((source,), (other,), binding, seed, may_be_conditional=plain)
        if rule is not None:
            made.setdefault(canonical_key(rule), rule)
    return list(made.values())


def _underivable(
    todo: list[Equation], known: list[Rule], binding: dict[str, Data]
) -> list[Equation]:
    left: list[Equation] = []
    for start in range(0, len(todo), _BATCH):
        batch = todo[start : start + _BATCH]
        pairs = [(instantiate(one, binding), instantiate(other, binding)) for one, other in batch]
        fresh = are_underivable(pairs, known)
        left += [equation for equation, is_new in zip(batch, fresh, strict=True) if is_new]
    return left


def _canonical(world: Vocabulary, left: Term, right: Term) -> Equation:
    """Return an equation with the variables of each shape named in the order they stand in."""
    shapes = dict(world.variables)
    pools: dict[tuple[int, ...], list[str]] = {}
    for name, shape in world.variables:
        pools.setdefault(shape, []).append(name)
    if size([left]) < size([right]):
        left, right = right, left
    names: dict[str, Term] = {}
    for name in variable_names([left, right]):
        names[name] = term(pools[shapes[name]].pop(0))
    return substitute(left, names), substitute(right, names)


def _order_key(equation: Equation) -> tuple[bool, int, int, str]:
    """Return the place of an equation: what gives an operator one thing twice comes last."""
    left, right = equation
    return (
        _repeats_operand(left, right),
        _operators(left) + _operators(right),
        -len(variable_names([left])),
        f"{term_text(left)} =",
    )


def _repeats_operand(left: Term, right: Term) -> bool:
    """Whether an operator is given one thing twice."""
    return any(
        len(node.children) >= 2 and node.children[-1] is node.children[-2] and node.head != "split"
        for node in postorder([left, right])
    )


def _operators(root: Term) -> int:
    """Return how many operators a term has, counted as often as they stand there."""
    return bool(root.children) + sum(map(_operators, root.children))


def _with_name(rule: Rule, taken: set[str]) -> Rule:
    """Return a rule named after the operators of its sources."""
    heads = [
        str(node.head)
        for source in rule.sources
        for node in reversed(list(postorder([source])))
        if node.children and not str(node.head).startswith("=")
    ]
    stem = "-".join(dict.fromkeys(heads))
    name, count = stem, 1
    while name in taken:
        count += 1
        name = f"{stem}-{count}"
    taken.add(name)
    return Rule(name, rule.sources, rule.targets, rule.conditions)


_PairCandidate = tuple[tuple[Term, Term], Term, int, int]


def two_source_rules(
    world: Vocabulary,
    terms: TermEnumeration,
    seed: int,
    progress: Callable[[str], None],
    is_late: Callable[[], bool],
) -> list[Rule]:
    """Return the rules with two sources of a world, each pair of sources once."""
    binding: dict[str, Data] = dict(world.data())
    rules: dict[str, Rule] = {}
    for sources, whole, axis, at in sorted(_pairs(terms), key=_weight):
        if is_late():
            break
        parts = make_node("split", axis, at, whole)
        targets = make_node("split0", parts), make_node("split1", parts)
        rule = generalize(sources, targets, binding, seed)
        if rule is None or any(_sources_key(rule, swap) in rules for swap in (False, True)):
            continue
        heads = dict.fromkeys(str(source.head) for source in (*sources, *_parts_inside(whole)))
        stem = "two-" + "-".join(heads)
        count = sum(rule.name.startswith(stem) for rule in rules.values())
        named = Rule(
            f"{stem}-{count + 1}" if count else stem, rule.sources, rule.targets, rule.conditions
        )
        rules[_sources_key(rule, False)] = named
        progress(f"{world.name}: {named}")
    return list(rules.values())


def _pairs(terms: TermEnumeration) -> Iterator[_PairCandidate]:
    for whole in [entry for size_ in sorted(terms.by_size) for entry in terms.by_size[size_]]:
        inner = [node for node in postorder([whole.term]) if str(node.head).startswith("concat")]
        if not inner or str(whole.term.head).startswith("concat"):
            continue
        for axis, extent in enumerate(whole.data.shape):
            for at in range(1, extent):
                halves = [np.split(array, [at], axis) for array in whole.arrays]
                first, second = (
                    _known_term(terms, tuple(half[i] for half in halves)) for i in (0, 1)
                )
                if first is None or second is None or first is second:
                    continue
                shared = set(variable_names([first.term])) & set(variable_names([second.term]))
                if shared and first.size == second.size == 1:
                    yield (first.term, second.term), whole.term, axis, at


def _parts_inside(whole: Term) -> list[Term]:
    """Return what is enlarged inside, which a name is to tell."""
    return [node for node in postorder([whole]) if node.head == "enlarge"]


def _known_term(terms: TermEnumeration, arrays: tuple[Array, ...]) -> EnumeratedTerm | None:
    return terms.known.get(fingerprint(arrays))


def _weight(candidate: _PairCandidate) -> tuple[int, int, str]:
    _, whole, axis, at = candidate
    return size([whole]), -len(variable_names([whole])), f"{term_text(whole)} {axis} {at}"


def _sources_key(rule: Rule, swap: bool) -> str:
    """Return what rules share that have the same sources, up to names and to their order."""
    sources = rule.sources[::-1] if swap else rule.sources
    names = {name: term(f"?{place}") for place, name in enumerate(variable_names(sources))}
    return " & ".join(term_text(substitute(source, names)) for source in sources)
