"""Sentences about steps: what each does to the loops that it finds, and all of them together.

Example, isl's schedule of a product of matrices::

    interchange L3 L4     L3 and L4 change places: L4 is the outer loop now
    fuse L2 L4            L2 and L4 become one loop, L2
    fuse S0 L3            S0 moves into the first iteration of L3

    isl interchanged L3 and L4, then fused L2 with L4, and S0 with L3.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import assert_never

from polygym.transformations.loop_tree import Loop, LoopTree
from polygym.transformations.state import TransformState
from polygym.transformations.steps import (
    Distribute,
    Fuse,
    Interchange,
    Reorder,
    Reverse,
    Shift,
    Skew,
    TreeStep,
    amount_text,
)

MOST_GROUPS = 6
MOST_NAMES = 8


def sentence_of(before: TransformState, step: TreeStep) -> str:
    """Return what a legal step does to a state, without a full stop."""
    tree = before.tree
    match step:
        case Interchange(outer, inner):
            return f"{outer} and {inner} change places: {inner} is the outer loop now"
        case Fuse():
            return _fuse_sentence(tree, step)
        case Distribute(loop, node):
            return _distribute_sentence(tree, before.after(step).tree, loop, node)
        case Reorder(first, second):
            names = [node.name for node in tree.body_around(first)]
            if names.index(second) == names.index(first) + 1:
                return f"{first} and {second} change places: {second} runs first now"
            return f"{second} moves before {first}"
        case Skew(loop, by, factor):
            return f"the counter of {loop} grows by {_times(factor)}that of {by}"
        case Reverse(loop):
            return f"{loop} runs from its last iteration to its first"
        case Shift(node, loop, amount):
            when = "later" if amount > 0 else "earlier"
            return f"{node} runs {_iterations(abs(amount))} of {loop} {when}"
        case _:
            assert_never(step)


def summary_of(subject: str, steps: Sequence[TreeStep]) -> str:
    """Return one sentence about all steps.

    >>> summary_of("isl", [Interchange("L3", "L4"), Fuse("L2", "L4"), Fuse("S0", "L3")])
    'isl interchanged L3 and L4, then fused L2 with L4, and S0 with L3.'
    """
    if not steps:
        return f"{subject} left the order as it is."
    groups = [(kind, list(own)) for kind, own in groupby(steps, type)]
    if len(groups) <= MOST_GROUPS and len(steps) <= MOST_GROUPS + MOST_NAMES:
        parts = [f"{_VERBS[kind][0]} {_operands(own)}" for kind, own in groups]
        return f"{subject} {', then '.join(parts)}."
    counts: dict[type[TreeStep], int] = {}
    for step in steps:
        counts[type(step)] = counts.get(type(step), 0) + 1
    parts = [_counted(_VERBS[kind][1], count) for kind, count in counts.items()]
    return f"{subject} took {len(steps)} steps: {_listed(parts)}."


_VERBS: dict[type[TreeStep], tuple[str, str]] = {
    Interchange: ("interchanged", "interchange"),
    Fuse: ("fused", "fusion"),
    Distribute: ("distributed", "distribution"),
    Reorder: ("moved", "move"),
    Skew: ("skewed", "skew"),
    Reverse: ("reversed", "reversal"),
    Shift: ("shifted", "shift"),
}


def _operands(steps: Sequence[TreeStep]) -> str:
    """Return the operands of steps of one kind; those with one operand in common are joined.

    >>> _operands([Reorder("S0", "S3"), Reorder("S0", "S4")])
    'S3 and S4 before S0'
    """
    entries: list[tuple[list[str], str, list[str]]] = []
    for step in steps:
        first, link, second = _operand(step)
        if entries and entries[-1][1:] == (link, [second]):
            entries[-1][0].append(first)
        elif entries and link == "with" and entries[-1][:2] == ([first], link):
            entries[-1][2].append(second)
        else:
            entries.append(([first], link, [second]))
    return _listed(
        [f"{_listed(first)} {link} {_listed(second)}".strip() for first, link, second in entries]
    )


def _operand(step: TreeStep) -> tuple[str, str, str]:
    """Return a step's object, a preposition, and what that is about."""
    match step:
        case Interchange(first, second):
            return first, "and", second
        case Fuse(first, second):
            return first, "with", second
        case Distribute(loop, node):
            return loop, "before", node
        case Reorder(first, second):
            return second, "before", first
        case Skew(loop, by, factor):
            return loop, "by", f"{_times(factor)}{by}"
        case Reverse(loop):
            return loop, "", ""
        case Shift(node, loop, amount):
            return node, "by", f"{amount} in {loop}"
        case _:
            assert_never(step)


def _fuse_sentence(tree: LoopTree, step: Fuse) -> str:
    sunk = next(
        (
            name
            for name in (step.first, step.second)
            if name == step.sink or not isinstance(tree.nodes[name], Loop)
        ),
        None,
    )
    depth = f", and the {_counted('loop', step.depth - 1)} inside" if step.depth > 1 else ""
    amount = amount_text(step.terms, step.shift)
    if sunk is None:
        later = ""
        if step.terms:
            later = f"; {step.second} starts {amount} iterations later"
        elif step.shift:
            when = "later" if step.shift > 0 else "earlier"
            later = f"; {step.second} runs {_iterations(abs(step.shift))} {when}"
        return f"{step.first} and {step.second} become one loop, {step.first}{depth}{later}"
    is_first = sunk == step.first
    loop = step.second if is_first else step.first
    edge = "first" if is_first else "last"
    if step.terms:
        where = "before" if is_first else "behind"
        return f"{sunk} moves into {loop}{depth}, {amount} iterations {where} its {edge}"
    if step.shift:
        is_outside = step.shift > 0
        where = "before" if is_outside == is_first else "behind"
        return f"{sunk} moves into {loop}{depth}, {_iterations(abs(step.shift))} {where} its {edge}"
    return f"{sunk} moves into the {edge} iteration of {loop}{depth}"


def _distribute_sentence(tree: LoopTree, after: LoopTree, loop: str, node: str) -> str:
    number = {other.name for other in tree.loops}
    new = next(other for other in after.loops if other.name not in number)
    kept = _few([name for name in tree.nodes[loop].statements if name not in new.statements])
    return f"{loop} is divided before {node}: {loop} keeps {kept}, {new.name} has the rest"


def _few(names: list[str]) -> str:
    if len(names) <= MOST_NAMES:
        return _listed(names)
    return f"{_listed(names[: MOST_NAMES - 1])} and {len(names) - MOST_NAMES + 1} more"


def _listed(names: Sequence[str]) -> str:
    """Return parts as a list in a sentence.

    >>> _listed(["L1", "L2", "L3"]), _listed(["L1 and L2", "L3 and L4"])
    ('L1, L2 and L3', 'L1 and L2, and L3 and L4')
    """
    if len(names) < 2:
        return "".join(names)
    comma = "," if any(" and " in name or " with " in name for name in names) else ""
    return f"{', '.join(names[:-1])}{comma} and {names[-1]}"


def _times(factor: int) -> str:
    return "" if factor == 1 else f"{factor} times "


def _iterations(count: int) -> str:
    return _counted("iteration", count)


def _counted(noun: str, count: int) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
