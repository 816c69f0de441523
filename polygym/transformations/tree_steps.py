"""Effects of steps on a loop tree: (tree, step) → tree, legal or not.

A step that names what is not there, or what it cannot apply to, is refused with a reason. Whether
the result respects the dependences is another question
(:mod:`polygym.transformations.legality`). Example, y = Ax::

    L1 (S: i)                fuse L1 L2          L1 (S: i, T: i)
      S                                            S
    L2 (T: i)                →                     L3 (T: j)
      L3 (T: j)                                      T
        T
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from polygym.errors import InputError
from polygym.poly.schedule import ScheduleRow, combine_rows
from polygym.transformations.loop_tree import (
    LOOP_PREFIX,
    Body,
    Loop,
    LoopTree,
    Node,
    StatementNode,
    with_loop_body,
)
from polygym.transformations.steps import (
    Distribute,
    Fuse,
    Interchange,
    Reorder,
    Reverse,
    Shift,
    Skew,
    TreeStep,
)

EdgeRow = Callable[[LoopTree, Loop, Node, str, bool], ScheduleRow]
"""The row of a node's statement that is moved into the first or last iteration of a loop."""


class UnavailableStepError(InputError):
    """A step that has no meaning for a tree."""


def apply_tree_step(tree: LoopTree, step: TreeStep, edge_row: EdgeRow) -> LoopTree:
    """Return the tree after a step.

    Raises:
        UnavailableStepError: the step does not apply to this tree.
    """
    match step:
        case Interchange(outer, inner):
            return _interchange(tree, outer, inner)
        case Fuse():
            return _fuse(tree, step, edge_row)
        case Distribute(loop, before):
            return _distribute(tree, loop, before)
        case Reorder(first, second):
            return _reorder(tree, first, second)
        case Skew(loop, by, factor):
            return _skew(tree, loop, by, factor)
        case Reverse(loop):
            known = loop_named(tree, loop)
            rows = tuple(combine_rows(row, row, -1, 0) for row in known.rows)
            return tree.with_body(tree.replaced(loop, by=(replace(known, rows=rows),)))
        case Shift(node, loop, amount):
            return _shift(tree, node, loop, amount)
        case _:
            assert_never(step)


def loop_named(tree: LoopTree, name: str) -> Loop:
    """Return a loop by its name."""
    node = node_named(tree, name)
    if not isinstance(node, Loop):
        raise UnavailableStepError(f"{name}: expected a loop, found a statement")
    return node


def node_named(tree: LoopTree, name: str) -> Node:
    """Return a loop or a statement by its name."""
    node = tree.nodes.get(name)
    if node is None:
        known = ", ".join(tree.nodes)
        raise UnavailableStepError(f"{name[:80]}: expected one of {known}")
    return node


def expect_chain(tree: LoopTree, outer: str, inner: str) -> tuple[Loop, ...]:
    """Return the loops from one to another in it, between which there are only loops."""
    loop_named(tree, inner)
    chain = tree.chain(loop_named(tree, outer).name)
    names = [loop.name for loop in chain]
    if inner not in names[1:]:
        raise UnavailableStepError(
            f"{outer} {inner}: expected a perfect nest with {outer} around {inner} and only loops "
            f"between them; {outer} has {', '.join(names[1:]) or 'no loop'} in this way"
        )
    return chain[: names.index(inner) + 1]


def with_chain_order(tree: LoopTree, chain: tuple[Loop, ...], order: tuple[int, ...]) -> LoopTree:
    """Return the tree with the loops of a perfect nest in another order."""
    body = chain[-1].body
    for place in reversed(order):
        loop = chain[place]
        body = (Loop(loop.name, loop.statements, loop.rows, body),)
    return tree.with_body(tree.replaced(chain[0].name, by=body))


def _interchange(tree: LoopTree, outer: str, inner: str) -> LoopTree:
    chain = expect_chain(tree, outer, inner)
    last = len(chain) - 1
    order = (last, *range(1, last), 0)
    return with_chain_order(tree, chain, order)


def _neighbours(tree: LoopTree, name: str, next_name: str) -> tuple[Node, Node]:
    first, second = node_named(tree, name), node_named(tree, next_name)
    body = [node.name for node in tree.body_around(name)]
    place = body.index(name)
    if body[place + 1 : place + 2] != [next_name]:
        behind = body[place + 1] if place + 1 < len(body) else "nothing"
        raise UnavailableStepError(
            f"{name} {next_name}: expected neighbours in one body; behind {name} stands {behind}"
        )
    return first, second


def _reorder(tree: LoopTree, first: str, second: str) -> LoopTree:
    node_named(tree, first), node_named(tree, second)
    body = tree.body_around(first)
    names = [node.name for node in body]
    place = names.index(first)
    if second not in names[place + 1 :]:
        behind = ", ".join(names[place + 1 :]) or "nothing"
        raise UnavailableStepError(
            f"{first} {second}: expected nodes of one body, the second behind the first; behind "
            f"{first} stands {behind}"
        )
    last = names.index(second)
    nodes = (body[last], *body[place:last])
    return tree.with_body(tree.replaced(*names[place : last + 1], by=nodes))


def _fuse(tree: LoopTree, step: Fuse, edge_row: EdgeRow) -> LoopTree:
    first, second = _neighbours(tree, step.first, step.second)
    if isinstance(first, StatementNode) and isinstance(second, StatementNode):
        raise UnavailableStepError(
            f"{step.first} {step.second}: expected a loop among them, found two statements"
        )
    if step.sink and step.sink not in (step.first, step.second):
        raise UnavailableStepError(f"{step}: expected sink {step.first} or sink {step.second}")
    known = (*(loop.name for loop in tree.paths[step.first]), *tree.parameters)
    unknown = [name for name, _ in step.terms if name not in known]
    if unknown:
        raise UnavailableStepError(
            f"{step}: expected a shift of loops around both and parameters, "
            f"{', '.join(known) or 'none'}; found {', '.join(unknown)}"
        )
    joined = _joined(tree, first, second, step, edge_row)
    return tree.with_body(tree.replaced(step.first, step.second, by=(joined,)))


def _joined(tree: LoopTree, first: Node, second: Node, step: Fuse, edge_row: EdgeRow) -> Loop:
    """Return the loop in which two nodes are joined, down to a depth."""
    chains = [
        tree.chain(node.name) if isinstance(node, Loop) and node.name != step.sink else ()
        for node in (first, second)
    ]
    if not any(chains):
        raise UnavailableStepError(f"{step}: expected a loop that {step.sink} can be moved into")
    reach = min(len(chain) for chain in chains if chain)
    if step.depth > reach:
        raise UnavailableStepError(
            f"{step}: expected a depth up to {reach}, the number of loops right inside each other"
        )
    loops = chains[0] or chains[1]
    bodies: list[Body] = [
        chain[step.depth - 1].body if chain else (node,)
        for chain, node in zip(chains, (first, second), strict=True)
    ]
    body = (*bodies[0], *bodies[1])
    for level in reversed(range(step.depth)):
        parts: list[tuple[tuple[str, ...], tuple[ScheduleRow, ...]]] = []
        for chain, node, is_first in zip(chains, (first, second), (True, False), strict=True):
            if chain:
                parts.append((chain[level].statements, chain[level].rows))
            else:
                edge = tuple(
                    edge_row(tree, loops[level], node, name, is_first) for name in node.statements
                )
                parts.append((node.statements, edge))
        if not level and (step.shift or step.terms):
            # Of a loop and a node that sinks into it the node moves.
            place, factor = (1, 1) if chains[0] else (0, -1)
            parts[place] = (parts[place][0], _later(*parts[place], step, factor, tree))
        rows = (*parts[0][1], *parts[1][1])
        body = (Loop(loops[level].name, (*parts[0][0], *parts[1][0]), rows, body),)
    (loop,) = body
    assert isinstance(loop, Loop)
    return loop


def _later(
    statements: tuple[str, ...],
    rows: tuple[ScheduleRow, ...],
    step: Fuse,
    factor: int,
    tree: LoopTree,
) -> tuple[ScheduleRow, ...]:
    """Return the rows of a nest with a multiple of the shift."""
    factors = dict(step.terms)
    loops = [loop for loop in tree.paths[step.first] if loop.name in factors]
    names = {loop.name for loop in loops}
    sizes = tuple(0 if name in names else factors.get(name, 0) for name in tree.parameters)
    result = []
    for statement, row in zip(statements, rows, strict=True):
        row = combine_rows(
            row, ScheduleRow((0,) * len(row.iterators), sizes, step.shift), 1, factor
        )
        for loop in loops:
            row = combine_rows(row, loop.row(statement), 1, factor * factors[loop.name])
        result.append(row)
    return tuple(result)


def shifted(row: ScheduleRow, amount: int) -> ScheduleRow:
    """Return a row with another constant."""
    return replace(row, constant=row.constant + amount) if amount else row


def _distribute(tree: LoopTree, name: str, before: str) -> LoopTree:
    loop_named(tree, name)
    node_named(tree, before)
    around = [loop.name for loop in tree.paths[before]]
    if name not in around:
        raise UnavailableStepError(f"{before}: expected a loop or statement in {name}")
    path = {*around[around.index(name) :], before}
    number = tree.next_number

    def parts(node: Loop) -> tuple[Body, Body]:
        """Return what stands before the node in a loop, and the rest."""
        nonlocal number
        new_name = f"{LOOP_PREFIX}{number}"
        number += 1
        place = next(k for k, child in enumerate(node.body) if child.name in path)
        child = node.body[place]
        first, second = node.body[:place], node.body[place:]
        if child.name != before:
            assert isinstance(child, Loop)
            left, right = parts(child)
            first, second = (*first, *left), (*right, *node.body[place + 1 :])
        if not first:
            return (), (node,)
        return (with_loop_body(node, first),), (
            replace(with_loop_body(node, second), name=new_name),
        )

    first, second = parts(loop_named(tree, name))
    if not first:
        raise UnavailableStepError(
            f"{before}: expected a loop or statement with something before it in {name}"
        )
    return tree.with_body(tree.replaced(name, by=(*first, *second)), number - tree.next_number)


def _skew(tree: LoopTree, name: str, by: str, factor: int) -> LoopTree:
    loop, other = loop_named(tree, name), loop_named(tree, by)
    if name == by or not set(loop.statements) <= set(other.statements):
        raise UnavailableStepError(
            f"{name} {by}: expected a loop {by} with all statements of {name}, which has "
            f"{', '.join(loop.statements)}; {by} has {', '.join(other.statements)}"
        )
    if not factor:
        raise UnavailableStepError(f"{name} {by}: expected a factor other than 0")
    rows = tuple(
        combine_rows(row, other.row(statement), 1, factor)
        for statement, row in zip(loop.statements, loop.rows, strict=True)
    )
    return tree.with_body(tree.replaced(name, by=(replace(loop, rows=rows),)))


def _shift(tree: LoopTree, node: str, name: str, amount: int) -> LoopTree:
    loop, moved = loop_named(tree, name), node_named(tree, node)
    if node == name or loop not in tree.paths[node]:
        raise UnavailableStepError(f"{node} {name}: expected {node} to stand in {name}")
    if set(moved.statements) == set(loop.statements) or not amount:
        raise UnavailableStepError(
            f"{node} {name}: expected a part of {name} and an amount other than 0: moving all of a "
            "loop changes nothing"
        )
    rows = tuple(
        shifted(row, amount * (statement in moved.statements))
        for statement, row in zip(loop.statements, loop.rows, strict=True)
    )
    return tree.with_body(tree.replaced(name, by=(replace(loop, rows=rows),)))
