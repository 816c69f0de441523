"""Rules as others publish them, in the form of rules of tensor graphs, and whether ours show them.

A line is one rule, ``SOURCE => TARGET``, of s-expressions with the operators of TASO and TENSAT;
``SOURCE, SOURCE => TARGET, TARGET`` has two results. Two lines of which each needs a variable of
the other are one such rule. Modes are numbers there: padding 0 is same and 1 valid, activation 0
is none, 1 sigmoid, 2 relu, 3 tanh. A split remembers how its parts were put together, so that its
place is read from the concatenation below it.

Not everything can be said here: kernels that are written down (``Iconv``), or zeros around a kernel
up to a size that no other kernel has.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polygym.errors import PolygymError
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.rules.generate.rule_table import instantiate
from polygym.graphs.rules.instances import RuleInstance, instances
from polygym.graphs.rules.verification import GraphRuleCounterexample, check_instance
from polygym.pickling import pickle_by_name
from polygym.rewrite.egraph import CycleFilter, EGraph, SaturationLimits, saturate
from polygym.rewrite.rule import Rule, is_computed_literal
from polygym.rewrite.s_expressions import TermReader, term_text
from polygym.rewrite.term import Term, is_variable, rebuild, term, variable_names

_PADDING = {0: "same", 1: "valid"}
_ACTIVATIONS = {0: "none", 1: "sigmoid", 2: "relu", 3: "tanh"}
_SAME_HERE = frozenset("ewadd ewmul relu tanh sigmoid gelu".split())

_INSTANCES, _ATTEMPTS, _NODES = 3, 60, 8_000
"""On how many instances a rule is shown, of how many that are made, in e-graphs of what size."""

_TOLD = 20
"""After how many rules progress is told."""

MOST_ITERATIONS = 3
"""The most iterations of saturation that are tried."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class PublishedRule:
    """A line of a published table: as a rule here, or the reason that there is none.

    ``iterations`` is after how many iterations of saturation our rules show it, 0 if they do not.
    One that ``is_partial`` is wrong for some shapes, such as groups, and shown for the others.
    """

    text: str
    rule: Rule | None = None
    reason: str = ""
    iterations: int = 0
    is_partial: bool = False


class _InexpressibleError(Exception):
    """A rule says something that rules here cannot."""


def translate_rules(text: str, file: str = "<rules>") -> list[PublishedRule]:
    """Return the rules of a published table, translated.

    >>> [rule] = translate_rules("(matmul 2 ?x ?y)=>(relu (matmul 0 ?x ?y))")
    >>> print(rule.rule)
    line-1: (matmul relu ?x ?y) => (relu (matmul none ?x ?y))

    Raises:
        SourceError: a line is none; says where.
    """
    rules: list[PublishedRule] = []
    waiting: _Line | None = None
    for line in _lines(text, file):
        if waiting is not None and line.is_open:
            line, waiting = waiting.joined(line), None
        elif line.is_open:
            waiting = line
            continue
        elif waiting is not None:
            rules.append(_translated(waiting))
            waiting = None
        rules.append(_translated(line))
    return [*rules, *([_translated(waiting)] if waiting is not None else [])]


def show_rules(
    published: Sequence[PublishedRule],
    rules: Sequence[Rule],
    progress: Callable[[str], None] = lambda _: None,
) -> list[PublishedRule]:
    """Return the same with the iterations after which rules show each of them."""
    result: list[PublishedRule] = []
    for number, line in enumerate(published, 1):
        if number % _TOLD == 0:
            progress(f"rule {number} of {len(published)}")
        if line.rule is not None:
            line = _shown(line, line.rule, rules)
        result.append(line)
    return result


def summary(published: Sequence[PublishedRule]) -> dict[str, Any]:
    """Return how many rules are translated and shown, and why others are not."""
    translated = [line for line in published if line.rule is not None]
    within = {
        str(limit): sum(0 < line.iterations <= limit for line in translated)
        for limit in range(1, MOST_ITERATIONS + 1)
    }
    reasons = Counter(line.reason for line in published if line.rule is None)
    return {
        "total": len(published),
        "translated": len(translated),
        "derivable": within,
        "partial": sum(line.is_partial for line in translated),
        "not_derivable": sum(line.iterations == 0 for line in translated),
        "not_expressible": dict(reasons.most_common()),
    }


def _shown(line: PublishedRule, rule: Rule, rules: Sequence[Rule]) -> PublishedRule:
    needed = shown = 0
    is_partial = False
    try:
        for number, instance in enumerate(instances(rule, 0, _ATTEMPTS)):
            verdict = check_instance(rule, instance, 0, number)
            is_partial = is_partial or isinstance(verdict, GraphRuleCounterexample)
            if verdict is not True or shown == _INSTANCES:
                continue
            iterations = _iterations(_equations(rule, instance), rules)
            if not iterations:
                return replace(line, is_partial=is_partial)
            needed, shown = max(needed, iterations), shown + 1
    except PolygymError as error:
        return PublishedRule(line.text, reason=f"makes no sense: {error}")
    if not shown:
        return PublishedRule(line.text, reason="no shapes for which both sides are equal")
    return replace(line, iterations=needed, is_partial=is_partial)


def _equations(rule: Rule, instance: RuleInstance) -> list[tuple[Term, Term]]:
    """Return each source and its target, with tensors of the shapes of an instance."""
    sides = zip(rule.sources, rule.targets, strict=True)
    return [
        (instantiate(left, instance.binding), instantiate(right, instance.binding))
        for left, right in sides
    ]


def _iterations(pairs: Sequence[tuple[Term, Term]], rules: Sequence[Rule]) -> int:
    """Return after how many iterations both sides of all equations are in one class, or 0."""
    graph = EGraph(TENSOR_DOMAIN)
    sides = graph.add_terms([side for pair in pairs for side in pair])
    for iteration in range(MOST_ITERATIONS + 1):
        if all(
            graph.find(left) == graph.find(right)
            for left, right in zip(sides[::2], sides[1::2], strict=True)
        ):
            return max(iteration, 1)
        limits = SaturationLimits(nodes=_NODES, iterations=1, k_multi=1)
        saturate(graph, rules, limits, CycleFilter.NONE)
    return 0


@dataclass(frozen=True, slots=True)
class _Line:
    """Sources and targets as they are written."""

    name: str
    text: str
    sources: tuple[Term, ...]
    targets: tuple[Term, ...]

    @property
    def is_open(self) -> bool:
        """Whether a target has a variable that no source binds."""
        return not set(variable_names(self.targets)) <= set(variable_names(self.sources))

    def joined(self, other: "_Line") -> "_Line":
        return _Line(
            self.name,
            f"{self.text} & {other.text}",
            self.sources + other.sources,
            self.targets + other.targets,
        )


def _lines(text: str, file: str) -> Iterator[_Line]:
    for number, line in enumerate(text.splitlines(), 1):
        written = line.split(";")[0].strip()
        if not written:
            continue
        # Commas and arrows stand as words of their own, wherever they are written.
        reader = TermReader(
            "\n" * (number - 1) + line.split(";")[0].replace("=>", " => ").replace(",", " , "), file
        )
        sides: list[list[Term]] = [[]]
        while reader.peek():
            if reader.peek() == "=>":
                reader.take()
                sides.append([])
            elif reader.peek() == ",":
                reader.take()
            else:
                sides[-1].append(reader.expression())
        if len(sides) != 2 or len(sides[0]) != len(sides[1]) or not sides[0]:
            raise reader.error("expected SOURCE => TARGET, with as many targets as sources")
        yield _Line(f"line-{number}", written, tuple(sides[0]), tuple(sides[1]))


def _translated(line: _Line) -> PublishedRule:
    conditions: dict[Term, None] = {}
    try:
        sources, targets = (
            tuple(_Translation(conditions).of(root) for root in side)
            for side in (line.sources, line.targets)
        )
        sources = tuple(_without_computed(root, conditions) for root in sources)
        rule = Rule(line.name, sources, targets, tuple(conditions))
    except _InexpressibleError as error:
        return PublishedRule(line.text, reason=str(error))
    except PolygymError as error:
        return PublishedRule(line.text, reason=str(error).partition(": ")[2])
    return PublishedRule(line.text, rule)


def _without_computed(source: Term, conditions: dict[Term, None]) -> Term:
    """Return a source with variables for literals that are computed, and say what those are."""

    def change(node: Term, children: tuple[Term, ...]) -> Term:
        made = term(node.head, *children)
        if not is_computed_literal(made):
            return made
        name = term(f"?at-{len(conditions)}")
        conditions[term("equal", name, made)] = None
        return name

    return rebuild(source, change)


class _Translation:
    """Operators of TASO as those here; what a rule takes for granted becomes a condition."""

    def __init__(self, conditions: dict[Term, None]) -> None:
        self._conditions = conditions

    def of(self, node: Term) -> Term:
        """Return a pattern here."""
        if not node.children:
            return node
        head, children = str(node.head), node.children
        match head:
            case "matmul":
                mode, *operands = children if len(children) == 3 else (term(0), *children)
                return term("matmul", _word(_ACTIVATIONS, mode), *map(self.of, operands))
            case "conv" | "conv2d":
                return self._convolution(children)
            case "poolavg" | "poolmax" | "pool_avg" | "pool_max":
                return self._pool(head.replace("_", ""), children)
            case "split_0" | "split_1" | "split0" | "split1":
                return self._part(head[-1], children)
            case "transpose":
                return self._transposed(children)
            case "smul":
                x, factor = map(self.of, children)
                self._conditions[term("one-element", factor)] = None
                return term("mul", x, factor)
            case "enlarge" if len(children) == 2:
                return term("enlarge", *map(self.of, children))
            case _ if head.rstrip("_2345") == "concat" and len(children) > 2:
                return self._concatenation(children)
            case _ if head in _SAME_HERE:
                return term(head, *map(self.of, children))
        raise _InexpressibleError(f"operator {head}")

    def _convolution(self, children: Sequence[Term]) -> Term:
        if len(children) != 6:
            raise _InexpressibleError(f"a convolution of {len(children)} arguments")
        stride_h, stride_w, padding, mode, x, w = children
        image = self.of(x)
        if w.head in ("merge", "merge_gconv") and len(w.children) == 2:
            inner, count = self.of(w.children[0]), w.children[1]
            kernel = term("merge", inner, count, term("=groups", image, inner))
        else:
            kernel = self.of(w)
        words = _word(_PADDING, padding), _word(_ACTIVATIONS, mode)
        return term("conv", stride_h, stride_w, *words, image, kernel)

    def _pool(self, head: str, children: Sequence[Term]) -> Term:
        if len(children) not in (6, 7):
            raise _InexpressibleError(f"a pool of {len(children)} arguments")
        # TENSAT writes the image first and an activation last, TASO the image last.
        x, *rest = children if len(children) == 7 else (children[-1], *children[:-1])
        kernel_h, kernel_w, stride_h, stride_w, padding, *mode = rest
        words = _word(_PADDING, padding), _word(_ACTIVATIONS, mode[0] if mode else term(0))
        return term(head, self.of(x), kernel_h, kernel_w, stride_h, stride_w, *words)

    def _part(self, which: str, children: Sequence[Term]) -> Term:
        if len(children) == 2:
            axis, x = children
        elif children[0].head == "split" and len(children[0].children) == 2:
            axis, x = children[0].children
        else:
            raise _InexpressibleError("a part of something that is no split")
        whole = self.of(x)
        place = _split_place(axis, whole)
        if place is None:
            raise _InexpressibleError("a split whose place is not known")
        return term(f"split{which}", term("split", axis, place, whole))

    def _transposed(self, children: Sequence[Term]) -> Term:
        x, *rest = children
        if rest and is_variable(rest[0]):
            raise _InexpressibleError("a permutation that is a variable")
        order = str(rest[0].head).replace("_", "-") if rest else "1-0"
        return term("transpose", self.of(x), term(order))

    def _concatenation(self, children: Sequence[Term]) -> Term:
        axis, *parts = children
        rank: Term | None = None
        if len(parts) > 2 and isinstance(parts[0].head, int):
            rank, *parts = parts
        made = [self.of(part) for part in parts]
        if rank is not None:
            for part in made:
                if is_variable(part):
                    self._conditions[term("rank", part, rank)] = None
        return term(f"concat{len(made)}", axis, *made)


def _word(words: dict[int, str], mode: Term) -> Term:
    """Return a mode as a word; a variable stays one."""
    if is_variable(mode):
        return mode
    if not isinstance(mode.head, int) or mode.head not in words:
        raise _InexpressibleError(f"mode {term_text(mode)}")
    return term(words[mode.head])


def _split_place(axis: Term, whole: Term) -> Term | None:
    """Return where a split is, from the concatenation that it undoes, if one is seen."""
    along, children = axis.head, whole.children
    match str(whole.head):
        case "concat2" if children[0] is axis:
            return term("=extent", children[1], axis)
        case "relu" | "tanh" | "sigmoid" | "gelu" | "poolavg" | "poolmax" | "mul":
            return _split_place(axis, children[0])
        case "ewadd" | "ewmul":
            return _split_place(axis, children[0]) or _split_place(axis, children[1])
        case "matmul" if along in (0, 1):
            return _split_place(axis, children[1 if along == 0 else 2])
        case "conv" if along in (0, 1):
            return _split_place(term(0), children[4 if along == 0 else 5])
    return None
