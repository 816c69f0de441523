"""Which operations share a kernel: a product and what follows it element by element.

An operation joins the one group that alone needs its result, if what needs it are functions of
elements of the same shape, and that is faster. A group has one operation at most that is more than
such a function, its head; its result is what the last one, its root, makes.

Nobody outside of a group waits for anything in it but the root, so it can run where the root is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from polygym.graphs.running.bodies import MAIN, Draft, broadcast
from polygym.graphs.running.functions import ACTIVATION, applied
from polygym.graphs.running.heads import HEADS, body_of
from polygym.graphs.running.nests import (
    Access,
    Array,
    Expression,
    Nest,
    Statement,
    accesses_of,
    index,
    mapped,
    size_of,
)
from polygym.graphs.running.operations import Operation
from polygym.graphs.running.simpler import simplified
from polygym.graphs.running.views import Source, View

__all__ = ["Fuses", "Group", "grouped", "nest_of"]

_RESULT = "result"

_LARGEST = 400
"""Parts of an expression that is computed at once; the language allows ten times as many."""


@dataclass(slots=True, eq=False)
class Group:
    """Operations that one kernel does; ``members`` in order, the root last."""

    root: Operation
    members: list[Operation] = field(default_factory=list)
    head: Operation | None = None

    @property
    def operands(self) -> list[View]:
        """What the group reads that it does not make."""
        own = {one.result for one in self.members}
        return [view for one in self.members for view in one.operands if view.source not in own]

    @property
    def label(self) -> str:
        """The names of the operations."""
        return "+".join(one.head.removeprefix(ACTIVATION) for one in self.members)


Fuses: TypeAlias = Callable[[Operation, Group], bool]
"""Whether an operation joins the group of functions of elements that follow it."""


def grouped(
    operations: Sequence[Operation], outputs: Collection[Source], fuses: Fuses | None
) -> list[Group]:
    """Return the groups in an order in which they can run.

    ``fuses`` is asked of an operation, no function of elements, that could join the group of those
    that follow it. Without it only the activations of products are done with them.
    """
    users: dict[Source, list[Operation]] = {}
    for one in operations:
        for view in one.operands:
            users.setdefault(view.source, []).append(one)
    groups: dict[Operation, Group] = {}
    found: list[Group] = []
    for one in reversed(operations):
        group = None
        if one.result not in outputs and _is_kernel(one):
            group = _joined(one, users.get(one.result, []), groups, fuses)
        if group is None:
            group = Group(one)
            found.append(group)
        group.members.insert(0, one)
        if not one.is_elementwise:
            group.head = one
        groups[one] = group
    return found[::-1]


def _is_kernel(one: Operation) -> bool:
    return one.is_elementwise or one.head in HEADS


def _joined(
    one: Operation,
    users: Sequence[Operation],
    groups: dict[Operation, Group],
    fuses: Fuses | None,
) -> Group | None:
    """Return the group that an operation joins, if there is one."""
    wanted = {groups[user] for user in users}
    if len(wanted) != 1:
        return None
    (group,) = wanted
    if one.result.shape != group.root.result.shape:
        return None
    if not one.is_elementwise and group.head is not None:
        return None
    for user in users:
        if not user.is_elementwise or (fuses is None and not user.head.startswith(ACTIVATION)):
            return None
        for view in user.operands:
            if view.source is one.result and view.shape != one.result.shape:
                return None
            if view.source is one.result and not view.is_plain:
                return None
    if fuses is None or one.is_elementwise or fuses(one, group):
        return group
    return None


def nest_of(group: Group, updated: View | None = None) -> tuple[Nest, list[View]]:
    """Return what a group computes, and the views that are its parameters.

    ``updated`` is an operand in whose memory the result comes to lie.
    """
    draft = Draft()
    shape, dtype = group.root.result.shape, group.root.result.dtype
    body = body_of(group.head, draft, shape)
    values: dict[Source, Expression] = {}
    kept: list[Statement] = []
    temporaries = list(body.temporaries)
    whole = tuple(body.extents[name] for name in body.at)
    for member in group.members:
        value = body.value
        if member is not group.head:
            parts = [
                values[view.source]
                if view.source in values
                else draft.read(view, broadcast(view.shape, body.logical))
                for view in member.operands
            ]
            kind = member.operands[0].dtype
            value = applied(member.head, member.literals, parts, kind)
            if size_of(value) > _LARGEST:
                # A text has each part as often as it is used: so large ones get memory.
                parts = [_kept(part, kind, body.at, whole, kept, temporaries) for part in parts]
                value = applied(member.head, member.literals, parts, kind)
        values[member.result] = value
    if updated is not None:
        target = draft.read(updated, body.logical).array
    else:
        target = _RESULT
    statements = [*body.statements, *kept]
    main = next((one for one in temporaries if one.name == MAIN), None)
    is_read = any(one.array == MAIN for one in accesses_of(value))
    follows = not isinstance(value, Access)
    if main is not None and main.dtype == dtype and is_read and (body.in_place or not follows):
        temporaries.remove(main)
        statements = [_renamed(one, MAIN, target) for one in statements]
        value = _renamed_in(value, MAIN, target)
    if not (isinstance(value, Access) and value.array == target):
        statements.append(Statement(target, body.at, "=", value))
    arrays = [*draft.arrays, *temporaries]
    if updated is None:
        arrays.append(Array(_RESULT, whole, dtype))
    nest = Nest(
        tuple(body.extents.items()), tuple(arrays), len(draft.arrays), tuple(statements), target
    )
    return simplified(nest), draft.views


def _kept(
    value: Expression,
    dtype: str,
    at: tuple[str, ...],
    shape: tuple[int, ...],
    statements: list[Statement],
    arrays: list[Array],
) -> Expression:
    """Return a value as an element of a temporary array, if it is not one of an array already."""
    if isinstance(value, Access):
        return value
    name = f"t{len(statements)}"
    statements.append(Statement(name, at, "=", value))
    arrays.append(Array(name, shape, dtype))
    return Access(name, tuple(map(index, at)))


def _renamed(statement: Statement, old: str, new: str) -> Statement:
    return Statement(
        new if statement.target == old else statement.target,
        statement.at,
        statement.operator,
        _renamed_in(statement.value, old, new),
    )


def _renamed_in(expression: Expression, old: str, new: str) -> Expression:
    def access(one: Access) -> Access:
        return Access(new, one.at) if one.array == old else one

    return mapped(expression, access)
