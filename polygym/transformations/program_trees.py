"""Loop trees of a program whose statements are divided or whose arrays are stored elsewhere.

A divided statement is replaced by its pieces, one behind the other, with the same rows: they run in
the same order. Statements that copy arrays stand before or behind all loops. Example, ``split S: i
= k``::

    L1 (S: i)      →     L1 (S_0: i, S_1: i, S_2: i)
      S                    S_0
                           S_1
                           S_2
"""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from dataclasses import replace

from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping, nests_of
from polygym.poly.scheduling.baselines import original_schedule
from polygym.transformations.loop_tree import (
    Body,
    Loop,
    LoopTree,
    Node,
    StatementNode,
    loop_tree_of,
)
from polygym.transformations.tree_steps import UnavailableStepError


def with_nests_of_pieces(mapping: Mapping, pieces: Dictionary[str, tuple[str, ...]]) -> Mapping:
    """Return a mapping in which the pieces of a statement have the options of its nest."""
    entries = {
        piece: dict(own) for name, own in mapping.nests for piece in pieces.get(name, (name,))
    }
    return replace(mapping, nests=nests_of(entries))


def divided_tree(tree: LoopTree, pieces: Dictionary[str, tuple[str, ...]], scop: Scop) -> LoopTree:
    """Return a tree in which statements are replaced by their pieces, with the same rows."""

    def names_of(statements: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(piece for name in statements for piece in pieces.get(name, (name,)))

    def inside(body: Body) -> Body:
        result: list[Node] = []
        for node in body:
            if isinstance(node, StatementNode):
                result += map(StatementNode, pieces.get(node.name, (node.name,)))
                continue
            rows = tuple(
                row
                for name, row in zip(node.statements, node.rows, strict=True)
                for _ in pieces.get(name, (name,))
            )
            result.append(Loop(node.name, names_of(node.statements), rows, inside(node.body)))
        return tuple(result)

    return LoopTree(tree.parameters, iterators_of(scop), inside(tree.body), tree.next_number)


def with_copies(tree: LoopTree, scop: Scop, source: Scop) -> LoopTree:
    """Return a tree with the statements that copy arrays, before or behind everything else.

    ``source`` has the statements that copy nothing. Copies of other arrays may be there already.

    Raises:
        UnavailableStepError: the new statements stand elsewhere, or others are gone.
    """
    known = {name for name, _ in tree.iterators}
    sources = {statement.name for statement in source.statements}
    own = {statement.name for statement in scop.statements}
    if not known <= own:
        raise UnavailableStepError(
            "a storage plan that changes statements, found loops around them"
        )
    fresh = loop_tree_of(original_schedule(scop), tree.next_number)
    before: list[Node] = []
    behind: list[Node] = []
    place = before
    for node in fresh.body:
        is_new = [name not in known for name in node.statements]
        if all(is_new):
            place.append(node)
        elif any(is_new):
            raise UnavailableStepError("a storage plan: expected copies outside of all loops")
        elif not sources.isdisjoint(node.statements):
            place = behind
    body = (*before, *tree.body, *behind)
    return LoopTree(tree.parameters, iterators_of(scop), body, fresh.next_number)


def iterators_of(scop: Scop) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the statements of a program with their iterators."""
    return tuple((statement.name, statement.iterators) for statement in scop.statements)
