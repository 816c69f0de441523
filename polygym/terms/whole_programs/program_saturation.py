"""Equality saturation of whole programs: all rules at once, then the cheapest term.

The e-graph is that of :mod:`polygym.rewrite.egraph`, over terms without ``let``; rules with binders
are matched by :mod:`~polygym.terms.whole_programs.binder_matching`. An iteration finds all matches
of all rules, then applies them. A rule with too many matches rests for some iterations, twice as
long each time (the back-off of egg). Rules that may give a value to what has none are applied to
terms before and after (:mod:`~polygym.terms.whole_programs.one_way`). What was found is evaluated
beside the program for random inputs, and dropped if it differs.

A *guide* says in which order matches are applied; without one they are applied rule by rule, until
the e-graph is full.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from polygym.pickling import pickle_by_name
from polygym.rewrite.egraph import EGraph
from polygym.rewrite.egraph.egraph import EGraphFullError
from polygym.rewrite.term import Term, term
from polygym.terms.cost import StaticCost
from polygym.terms.fusion_value import Normalizer
from polygym.terms.language.program import TermProgram
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.rules.rule_types import PatternRule, TermRule
from polygym.terms.saturation import inline_lets
from polygym.terms.whole_programs.binder_matching import (
    BinderMatcher,
    Bindings,
    Examples,
    TypedTerms,
)
from polygym.terms.whole_programs.code_motion import bind_invariants
from polygym.terms.whole_programs.loop_rules import tabulations, tilings
from polygym.terms.whole_programs.one_way import simplify, split_rules
from polygym.terms.whole_programs.program_checks import seems_equal
from polygym.terms.whole_programs.program_extraction import extract_program

_DOMAIN = TypedTerms()


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """How far the e-graph of a program grows: nodes, iterations, seconds, matches of a rule.

    ``blocks`` are the sizes of tiles that are tried for sums of known sizes.
    """

    nodes: int = 4_000
    iterations: int = 9
    seconds: float = 30.0
    matches: int = 300
    blocks: tuple[int, ...] = ()


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SaturatedProgram:
    """The term that was found, its cost and the first one's; how large the e-graph was."""

    term: Term
    initial_cost: float
    cost: float
    nodes: int
    iterations: int
    seconds: float


Guide = Callable[[Term], float]
"""What the example of a match's class is worth: the dearer, the later it is applied."""


@dataclass(slots=True)
class _Resting:
    """Until when a rule rests, and how often it has."""

    until: int = 0
    times: int = 0


@dataclass(slots=True)
class ProgramEGraph:
    """An e-graph of one program that grows by rules."""

    root: int
    graph: EGraph
    examples: Examples
    rules: tuple[PatternRule, ...]
    limits: ProgramLimits
    resting: dict[str, _Resting] = field(default_factory=dict)

    @staticmethod
    def of(
        bodies: Sequence[Term], rules: tuple[PatternRule, ...], limits: ProgramLimits
    ) -> "ProgramEGraph":
        """Return the e-graph of terms without ``let``, each of which may stand for the program."""
        graph = EGraph(_DOMAIN)
        root, *others = graph.add_terms(bodies)
        for other in others:
            graph.unite(root, other)
        graph.rebuild()
        examples = Examples(graph)
        examples.update()
        return ProgramEGraph(root, graph, examples, rules, limits)

    def iterate(self, number: int, deadline: float, guide: Guide | None = None) -> bool:
        """Apply what matches; whether anything changed and there is room for more."""
        graph, before = self.graph, self.graph.changes
        found = self._matches(number, deadline)
        if guide is not None:
            values = [guide(example) for example in map(self._example, found)]
            found = [each for _, each in sorted(zip(values, found, strict=True), key=_first)]
        graph.limit = self.limits.nodes
        matcher = BinderMatcher(graph, self.examples)
        is_full = False
        of_loops = self._of_loops()
        try:
            for name, terms in of_loops:
                for each in terms:
                    graph.unite(name, graph.add_term(each))
            for count, (rule, node, known) in enumerate(found):
                if count % 64 == 0 and perf_counter() > deadline:
                    is_full = True
                    break
                made = matcher.apply(rule, known)
                if made is not None:
                    graph.unite(node, made)
        except EGraphFullError:
            is_full = True
        graph.limit = 0
        graph.rebuild()
        self.examples.update()
        return graph.changes != before and not is_full

    def _example(self, match: tuple[PatternRule, int, Bindings]) -> Term:
        example = self.examples.of(match[1])
        assert example is not None
        return example

    def _matches(self, number: int, deadline: float) -> list[tuple[PatternRule, int, Bindings]]:
        """Return the matches of all rules that do not rest."""
        by_head: dict[str, list[int]] = {}
        for node in self.graph.nodes():
            by_head.setdefault(str(self.graph.head_of(node)), []).append(node)
        matcher = BinderMatcher(self.graph, self.examples)
        every: list[tuple[PatternRule, int, Bindings]] = []
        for rule in self.rules:
            rest = self.resting.setdefault(rule.name, _Resting())
            if number < rest.until or perf_counter() > deadline:
                continue
            most = self.limits.matches << rest.times
            found: list[tuple[PatternRule, int, Bindings]] = []
            for node in by_head.get(rule.head, ()):
                found += [(rule, node, known) for known in matcher.matches(rule, node)]
                if len(found) > most:
                    break
            if len(found) > most:
                rest.times += 1
                rest.until = number + (1 << rest.times)
                continue
            every += found
        return every

    def _of_loops(self) -> list[tuple[int, list[Term]]]:
        """Return the loops with what is made of their examples."""
        graph, made = self.graph, list[tuple[int, list[Term]]]()
        for node in graph.nodes():
            if graph.head_of(node) not in ("build", "sumbuild"):
                continue
            parts = [self.examples.of(child) for child in graph.children_of(node)]
            if None in parts:
                continue
            loop = term(graph.head_of(node), *(part for part in parts if part is not None))
            terms = [*tabulations(loop)]
            for block in self.limits.blocks:
                terms += tilings(loop, block)
            made.append((graph.find(node), terms))
        return made


def _first(pair: tuple[float, object]) -> float:
    return pair[0]


def saturate_loops(
    program: TermProgram,
    rules: Sequence[TermRule] | None = None,
    limits: ProgramLimits | None = None,
    guide: Guide | None = None,
) -> SaturatedProgram:
    """Return the cheapest term that saturation with binders finds; never a dearer one.

    Rules of ``let`` are left out: what is bound is decided at the end, by code motion.
    """
    limits = limits or ProgramLimits()
    begin, body, cost = perf_counter(), program.body, StaticCost()
    both, one = split_rules(rules_named("all") if rules is None else rules)
    every = (*both, *one)
    flat = inline_lets(body)
    directed = inline_lets(Normalizer(every)(body)[0])
    starts = list(dict.fromkeys((flat, *(simplify(each, every) for each in (flat, directed)))))
    grown = ProgramEGraph.of(starts, both, limits)
    iterations = 0
    while iterations < limits.iterations:
        iterations += 1
        if not grown.iterate(iterations, begin + limits.seconds, guide):
            break
    made = extract_program(grown.graph, grown.root, grown.examples, seconds=limits.seconds)
    found = [bind_invariants(each) for each in (*starts, made, simplify(made, every))]
    best = body
    for each in sorted(found, key=cost):
        if cost(each) < cost(body) and seems_equal(program, each):
            best = each
            break
    seconds = perf_counter() - begin
    return SaturatedProgram(
        best, cost(body), cost(best), grown.graph.node_count, iterations, seconds
    )
