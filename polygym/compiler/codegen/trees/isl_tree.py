"""A schedule tree of ours as isl's own, ready for its AST generator."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polygym.compiler.codegen.common.sizes import Sizes, at_sizes, row_at_sizes
from polygym.compiler.codegen.trees.tree import Band, Leaf, Sequence, Tree
from polygym.compiler.poly.legality import LegalSchedule


def to_isl(
    tree: Tree, legal: LegalSchedule, sizes: Sizes | None = None, *, whole: bool = False
) -> isl.Schedule:
    """Return the tree as isl's own schedule tree, ready for its AST generator.

    isl splits a loop where what runs in it changes; not so with ``whole``, which gives one loop for
    each member, with conditions inside.
    """
    scop = legal.scop
    domains = {
        statement.name: isl.UnionSet.from_set(at_sizes(isl.Set(statement.domain), sizes))
        for statement in scop.statements
    }
    domain = isl.UnionSet.empty(at_sizes(isl.Set(scop.context), sizes).get_space())
    for one in domains.values():
        domain = domain.union(one)
    root = isl.Schedule.from_domain(domain).get_root()
    making = _Making(legal, domains, sizes, whole)
    return _insert(tree, root.child(0), making).get_schedule()


@dataclass(frozen=True, slots=True)
class _Making:
    """What every node needs to see."""

    legal: LegalSchedule
    domains: dict[str, isl.UnionSet]
    sizes: Sizes | None
    whole: bool


def _insert(tree: Tree, node: isl.ScheduleNode, making: _Making) -> isl.ScheduleNode:
    """Insert a tree at a leaf of isl's; return the node at the same place."""
    match tree:
        case Leaf():
            return node
        case Band():
            node = node.insert_partial_schedule(_partial_schedule(tree, making))
            node = node.band_set_permutable(1)
            for position, member in enumerate(tree.members):
                node = node.band_member_set_coincident(position, int(member.coincident))
                if making.whole:
                    node = node.band_member_set_ast_loop_type(position, isl.ast_loop_type.atomic)
            return _insert(tree.child, node.child(0), making).parent()
        case Sequence():
            filters = isl.UnionSetList.alloc(isl.DEFAULT_CONTEXT, len(tree.branches))
            for branch in tree.branches:
                group = making.domains[branch.statements[0]]
                for name in branch.statements[1:]:
                    group = group.union(making.domains[name])
                filters = filters.add(group.universe())
            node = node.insert_sequence(filters)
            for position, branch in enumerate(tree.branches):
                below = _insert(branch.child, node.child(position).child(0), making)
                node = below.parent().parent()
            return node


def _partial_schedule(band: Band, making: _Making) -> isl.MultiUnionPwAff:
    """Return the members of a band as isl wants them."""
    schedule, sizes = making.legal.schedule, making.sizes
    parameters = schedule.parameters
    names = {part.statement: part.iterators for part in schedule.statements}
    columns = []
    for member in band.members:
        pieces = []
        for position, name in enumerate(band.statements):
            iterators = names[name]
            value = " + ".join(
                _part_text(
                    row_at_sizes(part.rows[position], parameters, sizes).text(
                        iterators, parameters
                    ),
                    part.size,
                )
                for part in member.parts
            )
            pieces.append(f"{name}[{', '.join(iterators)}] -> [({value})]")
        columns.append(f"{{ {'; '.join(pieces)} }}")
    # isl would read `[] -> [...]` as a tuple without members.
    prefix = f"[{', '.join(parameters)}] -> " if parameters and sizes is None else ""
    return isl.MultiUnionPwAff(f"{prefix}[{', '.join(columns)}]")


def _part_text(row: str, size: int) -> str:
    return f"({row})" if size == 1 else f"floor(({row})/{size})"
