"""An independent check: equality saturation, and extraction that charges what is shared once.

For terms of arithmetic alone (Floats, nothing that binds): the rules of Table 3 of the Knossos
paper go into an e-graph, all of them at once and in no order, and of all terms that are then equal
the one is extracted whose *different* nodes cost least. :func:`bind_shared` makes a term of it in
which what is used several times stands in a ``let``. Nothing of the searches of
:mod:`polygym.search.planning` is used: so it says how good these are.

A ``let`` costs 0.1, which extraction does not count: what it finds may be dearer by tenths than the
best.

No derivation comes of it. What stands for one is that both terms are in one class of the e-graph
which the rules lead to from the first (:func:`is_reached`): with the rules it can be made
anew. Names that a term binds, and rules of binding, have no place in it: ``let`` is written out
before, and rules with binders or with conditions other than of type are left out
(:func:`arithmetic_rules`).

Record of a saturation, which can be replayed.

There are no steps in it. It has the program, the rules, how far the e-graph grew, and the term: who
has these grows the e-graph again, and sees whether the term is there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polygym.errors import InputError
from polygym.pickling import pickle_by_name
from polygym.rewrite.domain import TrivialDomain
from polygym.rewrite.egraph import EGraph, SaturationLimits, saturate
from polygym.rewrite.extraction import extract_optimally
from polygym.rewrite.rule import Rule
from polygym.rewrite.rule import parse_rules as parse_patterns
from polygym.rewrite.term import Head, Term, postorder, term
from polygym.terms.cost import OPERATOR_COSTS, StaticCost
from polygym.terms.language.nodes import bound, let, term_facts
from polygym.terms.language.parser import parse_program
from polygym.terms.language.printer import text_of, text_of_program
from polygym.terms.language.program import TermProgram
from polygym.terms.language.substitution import open_binder, shift_indices
from polygym.terms.language.types import FLOAT
from polygym.terms.record_results import check_costs, read_result
from polygym.terms.rules.patterns import (
    LiteralPattern,
    Metavariable,
    OperatorPattern,
    Pattern,
    subpatterns,
    text_of_pattern,
)
from polygym.terms.rules.rule_table import parse_rules, rules_named, text_of_rules
from polygym.terms.rules.rule_types import PatternRule, TermRule
from polygym.terms.rules.rule_types import TermRule as AnyRule
from polygym.terms.rules.soundness import check_unknown

_OPERATORS = ("add", "sub", "mul", "div", "neg", "exp", "log", "sqrt", "sin", "cos", "tanh")
_OF_FLOATS = ("float", "data")
LIMITS = SaturationLimits(nodes=600, iterations=10)
"""How far an e-graph grows if nothing else is said."""


@dataclass(frozen=True, slots=True)
class SaturatedTerm:
    """The term that was extracted, with ``let`` for what is shared; what it costs.

    ``lower_bound`` is what no term of the e-graph is cheaper than, ``is_complete`` whether the
    e-graph has every term that the rules lead to.
    """

    term: Term
    cost: float
    lower_bound: float
    nodes: int
    is_complete: bool


def saturate_term(
    root: Term,
    rules: Sequence[AnyRule] | None = None,
    limits: SaturationLimits | None = None,
    seconds: float = 30.0,
) -> SaturatedTerm:
    """Return the cheapest term that equality saturation finds, by the rules of arithmetic.

    The term itself is found again where nothing is cheaper.

    Raises:
        InputError: the term is not of arithmetic alone.
    """
    flat = inline_lets(root)
    graph, name, is_complete = _grow_egraph(flat, rules, limits)
    chosen = extract_optimally(graph, name, _node_cost, seconds=seconds)
    cost = StaticCost()
    made = min((bind_shared(chosen.term), root), key=cost)
    return SaturatedTerm(made, cost(made), chosen.lower_bound, graph.node_count, is_complete)


def is_reached(
    root: Term,
    other: Term,
    rules: Sequence[AnyRule] | None = None,
    limits: SaturationLimits | None = None,
) -> bool:
    """Whether saturation finds that two terms are equal.

    >>> from polygym.terms.language.parser import parse_program
    >>> one, two, three = (
    ...     parse_program(text).body
    ...     for text in ("(div (mul x y) x)", "(mul (div x x) y)", "(mul x y)")
    ... )
    >>> is_reached(one, two), is_reached(one, three)
    (True, False)
    """
    graph, name, _ = _grow_egraph(inline_lets(root), rules, limits)
    result = graph.add_term(inline_lets(other))
    graph.rebuild()
    return graph.find(result) == graph.find(name)


def _grow_egraph(
    root: Term, rules: Sequence[AnyRule] | None, limits: SaturationLimits | None
) -> tuple[EGraph, int, bool]:
    """Return the e-graph of a term, the term's class, and whether nothing more is to be found."""
    for node in postorder([root]):
        if term_facts(node).type != FLOAT or (node.children and node.head not in _OPERATORS):
            raise InputError(
                f"saturation: expected Floats under {', '.join(_OPERATORS)}, found {node.head}"
            )
    graph = EGraph(TrivialDomain())
    name = graph.add_term(root)
    patterns = _patterns(arithmetic_rules(rules_named("arithmetic") if rules is None else rules))
    report = saturate(graph, patterns, limits or LIMITS)
    return graph, name, report.stop.value == "saturated"


def inline_lets(root: Term) -> Term:
    """Return a term with the values of all ``let``s in the places of their variables.

    Equal parts are one object, so that nothing grows.
    """
    made: dict[Term, Term] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if node in made:
            stack.pop()
            continue
        if node.head == "let":
            value, body = node.children
            if value not in made:
                stack.append(value)
                continue
            inner = open_binder(body, made[value])
            if inner not in made:
                stack.append(inner)
                continue
            made[node] = made[inner]
        else:
            missing = [child for child in node.children if child not in made]
            if missing:
                stack.extend(missing)
                continue
            made[node] = term(node.head, *(made[child] for child in node.children))
        stack.pop()
    return made[root]


def arithmetic_rules(rules: Sequence[AnyRule]) -> tuple[PatternRule, ...]:
    """Return the rules that say something of Floats without binders."""
    return tuple(
        rule
        for rule in rules
        if isinstance(rule, PatternRule)
        and all(condition.name in _OF_FLOATS for condition in rule.conditions)
        and _is_plain(rule.source)
        and _is_plain(rule.target)
    )


def _is_plain(pattern: Pattern) -> bool:
    return all(
        part.head in _OPERATORS
        if isinstance(part, OperatorPattern)
        else isinstance(part, Metavariable)
        or (isinstance(part, LiteralPattern) and term_facts(part.term).type == FLOAT)
        for part in subpatterns(pattern)
    )


def _node_cost(head: Head, children: tuple[object, ...], data: object) -> float:
    return OPERATOR_COSTS.get(str(head), 0.0) if children else 0.0


def _patterns(rules: Sequence[PatternRule]) -> list[Rule]:
    """Return the rules of arithmetic as those of :mod:`polygym.rewrite`; all is Float here."""
    lines = [
        f"{rule.name}: {text_of_pattern(rule.source)} => {text_of_pattern(rule.target)}"
        for rule in rules
    ]
    return parse_patterns("\n".join(lines))


def bind_shared(root: Term) -> Term:
    """Return a term without binders with a ``let`` around it for every part that is used twice.

    Parts within such a part are bound outside of it, so that all of it is there once.

    >>> from polygym.terms.language.printer import text_of
    >>> from polygym.terms.language.parser import parse_program
    >>> text_of(bind_shared(parse_program("(mul (add x (log y)) (add x (log y)))").body))
    '(let (t1 (add x (log y))) (mul t1 t1))'
    """
    order = list(postorder([root]))
    uses: dict[Term, int] = {}
    for node in order:
        for child in node.children:
            uses[child] = uses.get(child, 0) + 1
    shared = [node for node in order if node.children and uses.get(node, 0) > 1]
    places = {node: place for place, node in enumerate(shared)}

    def written(top: Term, binders: int) -> Term:
        """Return a part where so many of the shared ones are bound around it."""
        made: dict[Term, Term] = {}
        for node in postorder([top]):
            place = places.get(node, binders)
            if place < binders and node is not top:
                made[node] = bound(binders - 1 - place, term_facts(node).type)
            elif node.children:
                made[node] = term(node.head, *(made[child] for child in node.children))
            else:
                made[node] = shift_indices(node, 0)
        return made[top]

    result = written(root, len(shared))
    for place in range(len(shared) - 1, -1, -1):
        result = let(written(shared[place], place), result)
    return result


KIND = "polygym rewrite by saturation"
VERSION = 2


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SaturationRecord:
    """A program, the rules that were used, and what was found."""

    program: TermProgram
    rules: tuple[TermRule, ...]
    limits: SaturationLimits
    result_term: SaturatedTerm

    @property
    def result(self) -> TermProgram:
        """The program with the term that was found."""
        return self.program.with_body(self.result_term.term)

    @property
    def initial_cost(self) -> float:
        """What the program costs."""
        return StaticCost()(self.program.body)

    def to_json(self) -> dict[str, Any]:
        """Return the record."""
        return {
            "kind": KIND,
            "version": VERSION,
            "program": text_of_program(self.program),
            "rules": text_of_rules(self.rules),
            "limits": {"nodes": self.limits.nodes, "iterations": self.limits.iterations},
            "nodes": self.result_term.nodes,
            "is_complete": self.result_term.is_complete,
            "lower_bound": self.result_term.lower_bound,
            "initial_cost": self.initial_cost,
            "cost": self.result_term.cost,
            "term": text_of(self.result_term.term),
        }


def saturate_program(
    program: TermProgram,
    rules: Sequence[TermRule],
    nodes: int = LIMITS.nodes,
    seconds: float = 30.0,
) -> SaturationRecord:
    """Return the cheapest term that an e-graph of at most so many nodes has.

    Raises:
        InputError: the program is not of arithmetic alone, or no rule is.
    """
    used = arithmetic_rules(rules)
    if not used:
        raise InputError("saturation: expected rules of Floats without binders, found none")
    limits = SaturationLimits(nodes=nodes, iterations=LIMITS.iterations)
    term = saturate_term(program.body, used, limits, seconds)
    return SaturationRecord(program, used, limits, term)


def replay_saturation(record: Mapping[str, Any], where: str = "a record") -> SaturationRecord:
    """Grow a record's e-graph again, and return what it says.

    Raises:
        InputError: it is no record, or the term is not there, or costs something else.
    """
    if record.get("kind") != KIND or record.get("version") != VERSION:
        raise InputError(f'{where}: expected a record with "kind": "{KIND}", found another')
    try:
        texts = [str(record[name]) for name in ("program", "rules", "term")]
        numbers = record["limits"]
        limits = SaturationLimits(
            nodes=int(numbers["nodes"]), iterations=int(numbers["iterations"])
        )
        costs = float(record["initial_cost"]), float(record["cost"])
        rest = float(record["lower_bound"]), int(record["nodes"]), bool(record["is_complete"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: expected the members of a record, found {error!r}") from None
    program = parse_program(texts[0], f"{where}: program")
    rules = arithmetic_rules(parse_rules(texts[1], f"{where}: rules"))
    check_unknown(rules, f"{where}: rules")
    last = read_result(program, texts[2], where).body
    if not is_reached(program.body, last, rules, limits):
        raise InputError(f"{where}: expected the rules to lead to its term; they do not")
    check_costs(costs, (program.body, last), where)
    term = SaturatedTerm(last, StaticCost()(last), *rest)
    return SaturationRecord(program, rules, limits, term)
