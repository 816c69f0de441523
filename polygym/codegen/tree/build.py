"""Schedule → schedule tree: bands are found from the dependences and never assumed."""

from polygym.codegen.loopir.pass_types import Pass, Representation
from polygym.codegen.tree.ir import Band, BandMember, Branch, Leaf, SequenceNode, Tree
from polygym.codegen.tree.loop_context import LoopContext
from polygym.codegen.tree.planning_memo import NO_MEMO, PlanningMemo
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule


def build_tree(legal: LegalSchedule, memo: PlanningMemo = NO_MEMO) -> Tree:
    """Return the tree of a legal schedule; with a ``memo`` its plans need not ask again."""
    schedule = legal.schedule
    with bounded_operations("building the schedule tree"):
        names = tuple(part.statement for part in schedule.statements)
        return _build(schedule, names, 0, LoopContext.of(legal, memo))


def _build(
    schedule: Schedule, statements: tuple[str, ...], dimension: int, loop_context: LoopContext
) -> Tree:
    """Build the tree for some statements from a dimension on.

    Invariant: the pairs ``loop_context`` are those that no outer dimension orders, between these
    statements.
    """
    while dimension < schedule.dimensions and _is_constant(schedule, statements, dimension):
        groups = _groups_by_constant(schedule, statements, dimension)
        dimension += 1
        if len(groups) > 1:
            return SequenceNode(
                tuple(
                    Branch(
                        group, _build(schedule, group, dimension, loop_context.for_branch(group))
                    )
                    for group in groups
                )
            )
    if dimension == schedule.dimensions:
        return Leaf()
    return _build_band(schedule, statements, dimension, loop_context)


def _build_band(
    schedule: Schedule, statements: tuple[str, ...], dimension: int, loop_context: LoopContext
) -> Band:
    """Collect members while every pair alive at the top of the band keeps δ ≥ 0."""
    members: list[BandMember] = []
    below = loop_context
    while dimension < schedule.dimensions:
        rows = tuple(schedule.rows(name)[dimension] for name in statements)
        if all(row.is_constant for row in rows):
            if len(set(rows)) > 1:
                break
            dimension += 1
            continue
        if not loop_context.allows(rows, statements):
            break
        members.append(loop_context.new_member(rows, statements))
        below = below.inside_loop(rows, statements)
        dimension += 1
    return Band(statements, tuple(members), _build(schedule, statements, dimension, below))


def _is_constant(schedule: Schedule, statements: tuple[str, ...], dimension: int) -> bool:
    """Whether the dimension is a plain number for each of the statements."""
    return all(schedule.rows(name)[dimension].is_constant for name in statements)


def _groups_by_constant(
    schedule: Schedule, statements: tuple[str, ...], dimension: int
) -> list[tuple[str, ...]]:
    """Group the statements by the constant of the dimension, ascending."""
    groups: dict[int, list[str]] = {}
    for name in statements:
        groups.setdefault(schedule.rows(name)[dimension].constant, []).append(name)
    return [tuple(groups[constant]) for constant in sorted(groups)]


PASS: Pass[LegalSchedule, Tree] = Pass(
    "build",
    Representation.TREE,
    "tree of permutable bands and sequences, from the dependences",
    lambda legal, _: build_tree(legal),
)
