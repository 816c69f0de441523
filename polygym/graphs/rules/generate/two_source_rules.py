"""Rules with two sources: products that share an argument, found as the halves of one.

Every term with a concatenation inside is split along every axis at every place; where both halves
have values that were met before, the terms that had them are the sources. Those count that share a
variable, as two products of one input do.
"""

from collections.abc import Callable, Iterator

import numpy as np

from polygym.graphs.ir.build import make_node
from polygym.graphs.operators.definition import Array
from polygym.graphs.operators.types import Data
from polygym.graphs.rules.generate.enumeration import EnumeratedTerm, TermEnumeration, fingerprint
from polygym.graphs.rules.generate.generalization import generalize
from polygym.graphs.rules.generate.vocabularies import Vocabulary
from polygym.rewrite.rule import Rule
from polygym.rewrite.s_expressions import term_text
from polygym.rewrite.term import Term, postorder, size, substitute, term, variable_names

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
    for whole in [
        enumerated_term
        for size_ in sorted(terms.by_size)
        for enumerated_term in terms.by_size[size_]
    ]:
        inner = [one for one in postorder([whole.term]) if str(one.head).startswith("concat")]
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
    return [one for one in postorder([whole]) if one.head == "enlarge"]


def _known_term(terms: TermEnumeration, arrays: tuple[Array, ...]) -> EnumeratedTerm | None:
    return terms.known.get(fingerprint(arrays))


def _weight(found: _PairCandidate) -> tuple[int, int, str]:
    _, whole, axis, at = found
    return size([whole]), -len(variable_names([whole])), f"{term_text(whole)} {axis} {at}"


def _sources_key(rule: Rule, swap: bool) -> str:
    """Return what rules share that have the same sources, up to names and to their order."""
    sources = rule.sources[::-1] if swap else rule.sources
    names = {name: term(f"?{place}") for place, name in enumerate(variable_names(sources))}
    return " & ".join(term_text(substitute(source, names)) for source in sources)
