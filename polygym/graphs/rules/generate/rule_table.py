"""The table of what was found: less what follows from the rest, and both ways in one line.

Derivability of a rule from others: both sides become one class of an e-graph.

Many equations are looked at together, in one e-graph, since their terms have parts in common.
"""

from collections.abc import Callable, Sequence

from polygym.graphs.ir.build import make_node
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.operators.types import Data, NumberData, TensorType, TextData, shape_text
from polygym.graphs.rules.instances import instances
from polygym.graphs.rules.verification import VerifiedRule, verify_rule
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.egraph import CycleFilter, EGraph, SaturationLimits, saturate
from polygym.rewrite.rule import Rule
from polygym.rewrite.s_expressions import term_text
from polygym.rewrite.term import Term, postorder, rebuild, size, substitute, term

_ITERATIONS = 5


def instantiate(root: Term, binding: dict[str, Data]) -> Term:
    """Return a pattern with inputs and weights of certain shapes for its variables."""
    values: dict[str, Term] = {}
    for name, data in binding.items():
        if isinstance(data, TensorType):
            dtype = "" if data.dtype == "float32" else f":{data.dtype}"
            head = "weight" if data.constant else "input"
            values[name] = make_node(head, f"{name[1:]}@{shape_text(data.shape)}{dtype}")
        elif isinstance(data, NumberData | TextData):
            values[name] = term(data.value)
        else:
            raise Inadmissible(f"expected a tensor or a literal for {name}, found {data}")
    whole = substitute(root, values)
    return compute_literals(whole)


def compute_literals(root: Term) -> Term:
    """Return a term with its computed literals computed.

    Raises:
        Inadmissible: one cannot be, or a node makes no sense.
    """
    data: dict[Term, Data] = {}

    def change(node: Term, children: tuple[Term, ...]) -> Term:
        arguments = tuple(data[child] for child in children)
        if children and isinstance(node.head, str) and node.head.startswith("="):
            made = term(TENSOR_DOMAIN.compute(node.head[1:], arguments))
            data[made] = TENSOR_DOMAIN.infer(made.head, ())
        else:
            made = term(node.head, *children)
            data[made] = TENSOR_DOMAIN.infer(made.head, arguments)
        return made

    return rebuild(root, change)


def are_underivable(
    equations: Sequence[tuple[Term, Term]], rules: Sequence[Rule], nodes: int = 40_000
) -> list[bool]:
    """Return of each equation between terms without variables whether rules do not show it."""
    graph = EGraph(TENSOR_DOMAIN)
    sides = [(graph.add_term(left), graph.add_term(right)) for left, right in equations]
    limits = SaturationLimits(
        nodes=max(nodes, 4 * graph.node_count), iterations=_ITERATIONS, k_multi=0
    )
    saturate(graph, [rule for rule in rules if not rule.is_multiple], limits, CycleFilter.NONE)
    return [graph.find(left) != graph.find(right) for left, right in sides]


def is_derivable(left: Term, right: Term, rules: Sequence[Rule]) -> bool:
    """Whether rules show that two terms without variables are equal."""
    return not are_underivable([(left, right)], rules)[0]


_VERIFICATION_CASES = 500
"""On how many instances a rule is verified before it is written down."""

_INSTANCES = 6
"""On how many instances a rule must follow from others, with different literals and shapes."""


def prune_rules(
    rules: list[Rule], seed: int, progress: Callable[[str], None] = lambda _: None
) -> list[Rule]:
    """Return rules none of which follows from the others, the largest being tried first.

    Before, each is verified once more, on other and many more instances than it was found with.
    """
    kept: list[Rule] = []
    for rule in rules:
        if isinstance(verify_rule(rule, _VERIFICATION_CASES, seed + 1), VerifiedRule):
            kept.append(rule)
        else:
            progress(f"does not hold after all: {rule}")
    for rule in sorted(list(kept), key=_order_key, reverse=True):
        if rule.is_multiple:
            continue
        others = [other for other in kept if other is not rule and not _undoes(other, rule)]
        if _is_implied(rule, others, seed):
            kept.remove(rule)
            progress(f"follows from others: {rule}")
    return kept


def _is_implied(rule: Rule, others: list[Rule], seed: int) -> bool:
    pairs: list[tuple[Term, Term]] = []
    for instance in instances(rule, seed, _INSTANCES):
        binding = instance.binding
        if not all(
            isinstance(data, TensorType | NumberData | TextData) for data in binding.values()
        ):
            return False
        try:
            pairs.append(
                (instantiate(rule.sources[0], binding), instantiate(rule.targets[0], binding))
            )
        except Inadmissible:
            continue
    return bool(pairs) and not any(are_underivable(pairs, others, nodes=6_000))


def _is_reverse(one: Rule, other: Rule) -> bool:
    return one.sources == other.targets and one.targets == other.sources


def _undoes(one: Rule, other: Rule) -> bool:
    """Whether a rule undoes another: with it, of course, the other need not be said."""
    return _heads(one.sources) == _heads(other.targets) and (
        _heads(one.targets) == _heads(other.sources)
    )


def _heads(roots: tuple[Term, ...]) -> list[str]:
    return sorted(
        str(term.head)
        for term in postorder(roots)
        if term.children and not str(term.head).startswith("=")
    )


def _order_key(rule: Rule) -> tuple[int, int, str]:
    return size((*rule.sources, *rule.targets)), len(rule.conditions), rule.name


def rules_table(rules: list[Rule]) -> str:
    """Return the text of rules; one whose reverse holds too is written once."""
    lines: list[str] = []
    written: set[str] = set()
    for rule in rules:
        if rule.name in written:
            continue
        back = next(
            (
                other
                for other in rules
                if other is not rule
                and _is_reverse(other, rule)
                and other.conditions == rule.conditions
                and other.name not in written
            ),
            None,
        )
        written.add(rule.name)
        arrow = "=>"
        if back is not None:
            written.add(back.name)
            arrow = "<=>"
        lines.append(_line(rule, arrow))
    return "".join(lines)


def _line(rule: Rule, arrow: str) -> str:
    sources, targets = (" & ".join(map(term_text, side)) for side in (rule.sources, rule.targets))
    conditions = " & ".join(map(term_text, rule.conditions))
    if rule.is_multiple:
        whole = term_text(rule.targets[0].children[0])
        return (
            f"{rule.name}: {sources}\n    {arrow} (split0 =m) & (split1 =m)\n    let m = {whole}\n"
        ) + (f"    if {conditions}\n" if conditions else "")
    text = f"{rule.name}: {sources} {arrow} {targets}" + (f" if {conditions}" if conditions else "")
    if len(text) <= 100:
        return text + "\n"
    text = f"{rule.name}: {sources}\n    {arrow} {targets}\n"
    return text + (f"    if {conditions}\n" if conditions else "")


def table_header(
    seed: int, terms: int, equations: int, rules: list[Rule], seconds: float, is_whole: bool
) -> str:
    """Return the comment at the head of a table."""
    several = sum(rule.is_multiple for rule in rules)
    return (
        "; Rules of tensor graphs that were found, by `polygym graph rules --generate`.\n"
        f"; Seed {seed}: {terms} terms enumerated, {equations} pairs of equal values; of what was "
        "verified\n"
        f"; {len(rules) - several} rules with one source and {several} with two follow from no "
        f"others. {seconds / 60:.1f} minutes" + (".\n\n" if is_whole else ", when time was up.\n\n")
    )
