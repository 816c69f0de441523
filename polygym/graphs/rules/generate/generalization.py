"""From an equation of one world to a rule: literals become variables wherever it still holds.

All literals of a kind that are equal become one variable: the axis of a concatenation on either
side, the strides, the padding. First all of them at once, then one after the other; for an axis
that does not stand every value, conditions are looked for. A literal that stands in the target
alone is computed: an axis as the last or the last but one of a variable, the place of a split as
the extent of one.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from polygym.errors import InputError
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.operators.registry import operator_named
from polygym.graphs.operators.types import Data, TensorType
from polygym.graphs.rules.generate.side_conditions import add_conditions
from polygym.graphs.rules.instances import conditions_hold, infer_patterns, instances
from polygym.graphs.rules.variable_binding import literal_data
from polygym.graphs.rules.verification import VerifiedRule, verify_rule
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.rule import Rule
from polygym.rewrite.s_expressions import term_text
from polygym.rewrite.term import Head, Term, is_variable, postorder, term, variable_names

_VARIABLE_NAMES = {
    "activation": "a",
    "padding": "p",
    "stride_h": "sh",
    "stride_w": "sw",
    "kernel_h": "kh",
    "kernel_w": "kw",
    "permutation": "q",
    "axis": "n",
    "at": "i",
    "count": "k",
    "groups": "g",
}
_QUICK_CASES = 40
_FULL_CASES = 100

_OF_FUNCTIONS = {
    "=compose": ("permutation", "permutation"),
    "=place": ("permutation", "axis"),
    "=entry": ("permutation", "axis"),
}

Key = tuple[str, Head]


def generalize(
    sources: tuple[Term, ...],
    targets: tuple[Term, ...],
    binding: dict[str, Data],
    seed: int,
    *,
    may_be_conditional: bool = True,
) -> Rule | None:
    """Return the most general rule that an equation stands for, None if it holds nowhere else."""
    used = set(variable_names(sources))
    if any(is_variable(source) for source in sources) or not set(variable_names(targets)) <= used:
        return None
    if any(
        source in set(postorder([target])) for source, target in zip(sources, targets, strict=True)
    ):
        return None  # it would make the source larger and larger
    if (
        _repeated_operands(targets) - _repeated_operands(sources)
        or _operator_growth(sources, targets) > 1
    ):
        return None  # it says no more than that something may be done and undone, or done twice
    if "mul" in _heads(targets) - _heads(sources):
        return None  # nor is a product of equal shapes to become one that is broadcast
    names = _names(sources)
    best: tuple[tuple[int, float], Rule] | None = None
    for choice in _computed_literals(targets, binding, set(names)):
        rule = _with_literals(sources, choice, names, binding, seed, may_be_conditional)
        if rule is None or not _holds(rule, _FULL_CASES, seed):
            continue
        reach = len(variable_names(rule.sources)), _applicable_share(rule, seed)
        if best is None or reach > best[0]:
            best = reach, rule
    return best[1] if best else None


def _applicable_share(rule: Rule, seed: int) -> float:
    """Return on which part of all instances of its sources a rule fires, roughly."""
    fires: list[bool] = []
    for instance in instances(replace(rule, conditions=()), seed, _FULL_CASES):
        try:
            infer_patterns(rule.targets, instance.binding, instance.data)
        except Inadmissible:
            fires.append(False)
        else:
            fires.append(conditions_hold(rule, instance.binding, instance.data))
    return round(sum(fires) / len(fires), 1) if fires else 0.0


def _with_literals(
    sources: tuple[Term, ...],
    targets: tuple[Term, ...],
    names: dict[Key, str],
    binding: dict[str, Data],
    seed: int,
    may_be_conditional: bool,
) -> Rule | None:
    def rule(keys: dict[Key, str], conditions: tuple[Term, ...] = ()) -> Rule:
        left, right = (tuple(_renamed(root, keys) for root in side) for side in (sources, targets))
        return Rule("candidate", left, right, conditions)

    def conditioned(keys: dict[Key, str]) -> Rule | None:
        if not may_be_conditional:
            return None
        own = {name: literal_data(value) for (_, value), name in keys.items()}
        return add_conditions(rule(keys), {**binding, **own}, seed)

    if _holds(rule(names), _FULL_CASES, seed):
        return rule(names)
    # Activations, strides and paddings stand every value or one alone; axes and places of splits
    # may need conditions, all of them at once before fewer.
    places = {
        key: name
        for key, name in names.items()
        if key[0] in ("axis", "at", "permutation", "groups")
    }
    plain: dict[Key, str] = {}
    base: Rule | None = None
    order = {key: name for key, name in places.items() if key[0] == "permutation"}
    rest = {key: name for key, name in places.items() if key[0] != "permutation"}
    singles = [{key: name} for key, name in places.items()]
    for chosen in _distinct([places, rest, order, *singles, {}]):
        tried = rule(chosen)
        base = tried if _holds(tried, _QUICK_CASES, seed) else conditioned(chosen)
        if base is not None and all(
            _is_more_general(base, key, name) for key, name in chosen.items()
        ):
            plain = dict(chosen)
            break
        base = None
    if base is None:
        return None
    for key, name in names.items():
        if key not in places:
            tried = rule({**plain, key: name}, base.conditions)
            if _holds(tried, _QUICK_CASES, seed):
                plain[key] = name
    return rule(plain, base.conditions)


def _heads(roots: tuple[Term, ...]) -> set[Head]:
    return {node.head for node in postorder(roots) if node.children}


def _distinct(every: list[dict[Key, str]]) -> list[dict[Key, str]]:
    return [keys for place, keys in enumerate(every) if keys not in every[:place]]


def _operator_growth(sources: tuple[Term, ...], targets: tuple[Term, ...]) -> int:
    """Return how many more operators the target of a single source has; parts shared count once."""
    if len(sources) > 1:
        return 0
    before, after = (
        sum(
            bool(node.children) and node.head != "split" and not str(node.head).startswith("=")
            for node in postorder(side)
        )
        for side in (sources, targets)
    )
    return after - before


def _repeated_operands(roots: tuple[Term, ...]) -> set[Head]:
    """Return the operators that are given one thing twice."""
    return {
        node.head
        for node in postorder(roots)
        if len(node.children) >= 2
        and node.children[-1] is node.children[-2]
        and node.head != "split"
    }


def _is_more_general(rule: Rule, key: Key, name: str) -> bool:
    """Whether conditions say more of a variable than that it is the literal that it was."""
    return not any(
        term_text(condition) == f"(equal {name} {key[1]})" for condition in rule.conditions
    )


def _holds(rule: Rule, budget: int, seed: int) -> bool:
    try:
        return isinstance(verify_rule(rule, budget, seed), VerifiedRule)
    except InputError:
        return False


def _names(sources: tuple[Term, ...]) -> dict[Key, str]:
    """Return the variables for the literals of sources."""
    result: dict[Key, str] = {}
    for family, key in _literals(sources):
        if (family, key) in result:
            continue
        count = sum(other == family for other, _ in result)
        stem = "?" + ("nmlk"[count] if family == "axis" else _VARIABLE_NAMES[family])
        result[family, key] = stem if family == "axis" or not count else f"{stem}{count + 1}"
    return result


def _literals(roots: tuple[Term, ...]) -> Iterator[Key]:
    for node in postorder(roots):
        if not node.children or str(node.head).startswith("="):
            continue
        for (name, kind), child in zip(
            operator_named(node.head).parameters_of(len(node.children)), node.children, strict=True
        ):
            if (
                kind in "NS"
                and name in _VARIABLE_NAMES
                and not child.children
                and not is_variable(child)
            ):
                yield name, child.head


def _renamed(node: Term, keys: dict[Key, str]) -> Term:
    if not node.children:
        return node
    if str(node.head).startswith("="):
        families = _OF_FUNCTIONS.get(str(node.head), ())
        pairs = zip(families, node.children, strict=False)
        renamed = [term(keys.get((name, child.head), child.head)) for name, child in pairs]
        return term(node.head, *(renamed or node.children))
    children = []
    for (name, kind), child in zip(
        operator_named(node.head).parameters_of(len(node.children)), node.children, strict=True
    ):
        if kind in "NS" and not child.children and (name, child.head) in keys:
            children.append(term(keys[name, child.head]))
        else:
            children.append(_renamed(child, keys))
    return term(node.head, *children)


def _computed_literals(
    targets: tuple[Term, ...], binding: dict[str, Data], known: set[Key]
) -> Iterator[tuple[Term, ...]]:
    """Yield targets with axes and places of splits as they are, and as what computes them."""
    places: list[list[tuple[Term, Term]]] = []
    permutations = [term(value) for family, value in known if family == "permutation"]
    axes = [term(value) for family, value in known if family == "axis"]
    moved = [
        term(word, order, axis)
        for order, axis in product(permutations, axes)
        for word in ("=place", "=entry")
    ]
    for fromkey in dict.fromkeys(postorder(targets)):
        if str(fromkey.head).startswith("concat"):
            axis, first = fromkey.children[:2]
            options = [(axis, axis)] if ("axis", axis.head) in known else []
            options += [(axis, other) for other in moved if _value(other) == axis.head]
            options += [(axis, other) for other in _axes(axis, first, binding)]
            options = options or [(axis, axis)]
            places.append([(fromkey, _changed(fromkey, 0, other)) for _, other in options])
        elif fromkey.head == "split":
            axis, at, whole = fromkey.children
            along = [axis] if ("axis", axis.head) in known else []
            along += _axes(axis, whole, binding) or [axis]
            ats = [at] if ("at", at.head) in known else _extents(at, whole, binding)
            places.append(
                [
                    (fromkey, _changed(_changed(fromkey, 0, other), 1, place))
                    for other, place in product(along, ats)
                ]
            )
        elif fromkey.head == "transpose" and ("permutation", fromkey.children[1].head) not in known:
            order = fromkey.children[1]
            composed = [
                term("=compose", left, right) for left, right in product(permutations, repeat=2)
            ]
            options = [(order, made) for made in composed if _value(made) == order.head]
            places.append(
                [(fromkey, _changed(fromkey, 1, other)) for _, other in [*options, (order, order)]]
            )
    for choice in list(product(*places))[:24]:
        changes = dict(choice)
        yield tuple(_replaced(target, changes) for target in targets)


def _value(computed: Term) -> Head | None:
    """Return the literal that a function of literals is."""
    try:
        data = tuple(literal_data(child.head) for child in computed.children)
        return TENSOR_DOMAIN.compute(str(computed.head)[1:], data)
    except (Inadmissible, ValueError):
        return None


def _changed(node: Term, place: int, other: Term) -> Term:
    return term(node.head, *node.children[:place], other, *node.children[place + 1 :])


def _replaced(node: Term, changes: dict[Term, Term]) -> Term:
    """Return a term with literals of nodes changed, and the nodes below them too."""
    pattern = changes.get(node, node)
    if not pattern.children:
        return pattern
    return term(
        pattern.head,
        *(
            _replaced(child, changes) if child in node.children else child
            for child in pattern.children
        ),
    )


def _axes(axis: Term, inside: Term, binding: dict[str, Data]) -> list[Term]:
    """Return words for an axis: the last, or the last but one, of the first variable inside."""
    for name in variable_names([inside]):
        data = binding[name]
        if isinstance(data, TensorType) and len(data.shape) < 4:
            for word, value in (("column-axis", -1), ("row-axis", -2)):
                if len(data.shape) >= 2 and axis.head == len(data.shape) + value:
                    return [term(f"={word}", term(name))]
        return []
    return []


def _extents(at: Term, whole: Term, binding: dict[str, Data]) -> list[Term]:
    """Return words for the place of a split: extents of variables inside that are as large."""
    result = []
    for name in variable_names([whole]):
        data = binding[name]
        if isinstance(data, TensorType):
            rank = len(data.shape)
            for axis, extent in enumerate(data.shape):
                if extent != at.head:
                    continue
                value = term(axis)
                if rank < 4 and axis >= rank - 2:
                    word = "=column-axis" if axis == rank - 1 else "=row-axis"
                    value = term(word, term(name))
                result.append(term("=extent", term(name), value))
    return result or [at]
