"""A schedule tree of ours as isl's own, ready for its AST generator."""

from dataclasses import dataclass

import islpy as isl

from polygym.codegen.tree.ir import Band, Branch, FlooredRow, Leaf, SequenceNode, Tree
from polygym.mapping.sizes import Sizes, at_sizes, row_at_sizes
from polygym.poly.legality import LegalSchedule

BRANCH_PREFIX = "branch_"
"""What marks branches that are for some tiles alone are called, before their numbers."""


def to_isl(
    tree: Tree, legal: LegalSchedule, sizes: Sizes | None = None, *, without_splitting: bool = False
) -> isl.Schedule:
    """Return the tree as isl's own schedule tree, ready for its AST generator.

    isl splits a loop where what runs in it changes; not so with ``without_splitting``, which gives
    one loop for each member, with conditions inside.
    """
    scop = legal.scop
    domains = {
        statement.name: isl.UnionSet.from_set(at_sizes(isl.Set(statement.domain), sizes))
        for statement in scop.statements
    }
    domain = isl.UnionSet.empty(at_sizes(isl.Set(scop.context), sizes).get_space())
    for union_set in domains.values():
        domain = domain.union(union_set)
    root = isl.Schedule.from_domain(domain).get_root()
    making = _ConversionContext(legal, domains, sizes, without_splitting)
    return _insert(tree, root.child(0), making).get_schedule()


@dataclass(frozen=True, slots=True)
class _ConversionContext:
    """What every node needs to see."""

    legal: LegalSchedule
    domains: dict[str, isl.UnionSet]
    sizes: Sizes | None
    without_splitting: bool


def _insert(tree: Tree, node: isl.ScheduleNode, conversion: _ConversionContext) -> isl.ScheduleNode:
    """Insert a tree at a leaf of isl's; return the node at the same place."""
    match tree:
        case Leaf():
            return node
        case Band():
            node = node.insert_partial_schedule(_partial_schedule(tree, conversion))
            node = node.band_set_permutable(1)
            for position, member in enumerate(tree.members):
                node = node.band_member_set_coincident(position, int(member.coincident))
                if conversion.without_splitting:
                    node = node.band_member_set_ast_loop_type(position, isl.ast_loop_type.atomic)
            return _insert(tree.child, node.child(0), conversion).parent()
        case SequenceNode():
            filters = isl.UnionSetList.alloc(isl.DEFAULT_CONTEXT, len(tree.branches))
            for branch in tree.branches:
                group = conversion.domains[branch.statements[0]]
                for name in branch.statements[1:]:
                    group = group.union(conversion.domains[name])
                filters = filters.add(_branch_instances(group.universe(), branch, conversion))
            node = node.insert_sequence(filters)
            for position, branch in enumerate(tree.branches):
                inside = node.child(position).child(0)
                if branch.predicate is None:
                    node = _insert(branch.child, inside, conversion).parent().parent()
                    continue
                inside = inside.insert_mark(isl.Id(f"{BRANCH_PREFIX}{position}"))
                below = _insert(branch.child, inside.child(0), conversion)
                node = below.parent().parent().parent()
            return node


def _branch_instances(
    group: isl.UnionSet, branch: Branch, conversion: _ConversionContext
) -> isl.UnionSet:
    """Return those of a branch's statements' instances that it is for."""
    where = branch.predicate
    if where is None:
        return group
    schedule = conversion.legal.schedule
    parameters, own = schedule.parameters, {part.statement: part for part in schedule.statements}
    pieces = []
    for place, name in enumerate(branch.statements):
        iterators = own[name].iterators
        if not where.splits(name):
            pieces.append(f"{name}[{', '.join(iterators)}]")
            continue

        def number(part: FlooredRow, place: int = place, names: tuple[str, ...] = iterators) -> str:
            row = row_at_sizes(part.rows[place], parameters, conversion.sizes)
            return _part_text(row.text(names, parameters), part.size)

        pieces.append(f"{name}[{', '.join(iterators)}] : {where.text(number)}")
    return group.intersect(isl.UnionSet(f"{{ {'; '.join(pieces)} }}"))


def _partial_schedule(band: Band, conversion: _ConversionContext) -> isl.MultiUnionPwAff:
    """Return the members of a band as isl wants them."""
    schedule, sizes = conversion.legal.schedule, conversion.sizes
    parameters = schedule.parameters
    names = {part.statement: part.iterators for part in schedule.statements}
    columns = []
    for member in band.members:
        pieces = []
        for position, name in enumerate(band.statements):
            iterators = names[name]
            rows = (
                (row_at_sizes(p.rows[position], parameters, sizes), p.size) for p in member.terms
            )
            texts = (_part_text(row.text(iterators, parameters), size) for row, size in rows)
            value = " + ".join(texts)
            pieces.append(f"{name}[{', '.join(iterators)}] -> [({value})]")
        columns.append(f"{{ {'; '.join(pieces)} }}")
    # isl would read `[] -> [...]` as a tuple without members.
    prefix = f"[{', '.join(parameters)}] -> " if parameters and sizes is None else ""
    return isl.MultiUnionPwAff(f"{prefix}[{', '.join(columns)}]")


def _part_text(row: str, size: int) -> str:
    return f"({row})" if size == 1 else f"floor(({row})/{size})"
