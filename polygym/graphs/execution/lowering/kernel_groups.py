"""Groups of operations that share a kernel: a product and the elementwise ones after it.

An operation joins the one group that alone needs its result, if what needs it are functions of
elements of the same shape, and that is faster. A group has one operation at most that is more than
such a function, its head; its result is what the last one, its root, makes.

Operations outside of a group need its root alone, so the group can run at the place of the root.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from polygym.errors import InputError
from polygym.graphs.execution.ir.nests import (
    ArrayAccess,
    Expression,
    NestArray,
    NestStatement,
    TensorNest,
    TextTemplate,
    array_accesses,
    expression_size,
    index_named,
    map_expression,
)
from polygym.graphs.execution.ir.simplification import simplify
from polygym.graphs.execution.ir.views import (
    ACTIVATION,
    INSET,
    ArrayOperation,
    ArraySource,
    ArrayView,
    whole_array,
)
from polygym.graphs.execution.lowering.inset_padding import ends_in_inset, inset_pads
from polygym.graphs.execution.operators.bodies import (
    MAIN_STATEMENT,
    NestBuilder,
    OperatorBody,
    broadcast_indices,
)
from polygym.graphs.execution.operators.products import BODIES, operator_body
from polygym.graphs.operators.definition import NumberText
from polygym.graphs.operators.registry import operator_named
from polygym.lru_cache import LruCache

_RESULT = "result"

_MAX_EXPRESSION = 400
"""Parts of an expression that is computed at once; the language allows ten times as many."""


@dataclass(slots=True, eq=False)
class KernelGroup:
    """Operations that one kernel does; ``members`` in order, the root last."""

    root: ArrayOperation
    members: list[ArrayOperation] = field(default_factory=list)
    head: ArrayOperation | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what the kernel computes: an inset's root has zeros around it."""
        root = self.root
        return root.operands[0].shape if root.head == INSET else root.result.shape

    @property
    def operands(self) -> list[ArrayView]:
        """What the group reads that it does not make."""
        own = {operation.result for operation in self.members}
        return [
            view
            for array_operation in self.members
            for view in array_operation.operands
            if view.source not in own
        ]

    @property
    def label(self) -> str:
        """The names of the operations."""
        return "+".join(operation.head.removeprefix(ACTIVATION) for operation in self.members)


FusionPredicate: TypeAlias = Callable[[ArrayOperation, KernelGroup], bool]
"""Whether an operation joins the group of functions of elements that follow it."""


def group_operations(
    operations: Sequence[ArrayOperation],
    outputs: Collection[ArraySource],
    fuses: FusionPredicate | None,
) -> list[KernelGroup]:
    """Return the groups in an order in which they can run.

    ``fuses`` is asked of an operation, no function of elements, that could join the group of those
    that follow it. Without it only the activations of products are done with them.
    """
    users: dict[ArraySource, list[ArrayOperation]] = {}
    for operation in operations:
        for view in operation.operands:
            users.setdefault(view.source, []).append(operation)
    groups: dict[ArrayOperation, KernelGroup] = {}
    kernel_groups: list[KernelGroup] = []
    for operation in reversed(operations):
        group = None
        if operation.result not in outputs and _is_kernel(operation) and operation.head != INSET:
            group = _group_to_join(operation, users.get(operation.result, []), groups, fuses)
        if group is None:
            group = KernelGroup(operation)
            kernel_groups.append(group)
        group.members.insert(0, operation)
        if not operation.is_elementwise:
            group.head = operation
        groups[operation] = group
    return kernel_groups[::-1]


def _is_kernel(operation: ArrayOperation) -> bool:
    return operation.is_elementwise or operation.head in BODIES


def _group_to_join(
    operation: ArrayOperation,
    users: Sequence[ArrayOperation],
    groups: dict[ArrayOperation, KernelGroup],
    fuses: FusionPredicate | None,
) -> KernelGroup | None:
    """Return the group that an operation joins, if there is one."""
    wanted = {groups[user] for user in users}
    if len(wanted) != 1:
        return None
    (group,) = wanted
    if operation.result.shape != group.shape:
        return None
    if group.root.head == INSET and not ends_in_inset(operation, group.root):
        return None
    if not operation.is_elementwise and group.head is not None:
        return None
    for user in users:
        if not user.is_elementwise or (fuses is None and not user.head.startswith(ACTIVATION)):
            return None
        for view in user.operands:
            if view.source is operation.result and view.shape != operation.result.shape:
                return None
            if view.source is operation.result and not view.is_whole_array:
                return None
    if fuses is None or operation.is_elementwise or fuses(operation, group):
        return group
    return None


def operations_key(operations: Sequence[ArrayOperation]) -> Any:
    """Return what is equal for operations that are equal but for which arrays they are of."""
    numbers: dict[ArraySource, int] = {}

    def of(source: ArraySource) -> tuple[int, tuple[int, ...], str]:
        return numbers.setdefault(source, len(numbers)), source.shape, source.dtype

    return tuple(
        (
            operation.head,
            tuple(map(repr, operation.literals)),
            tuple(
                (of(view.source), view.start, view.extents, view.axes, view.shape)
                for view in operation.operands
            ),
            of(operation.result),
        )
        for operation in operations
    )


_NESTS: LruCache[Any, tuple[TensorNest, tuple[int, ...]]] = LruCache(1 << 14)


def group_nest(
    group: KernelGroup, updated: ArrayView | None = None
) -> tuple[TensorNest, list[ArrayView]]:
    """Return what a group computes, and the views that are its parameters.

    ``updated`` is an operand in whose memory the result comes to lie. What is alike but for which
    arrays it is of is made once.
    """
    given = [view for member in group.members for view in member.operands]
    given.append(whole_array(group.root.result))  # an inset's is a parameter
    place = -1 if updated is None else given.index(updated)
    head = -1 if group.head is None else group.members.index(group.head)

    def made() -> tuple[TensorNest, tuple[int, ...]]:
        nest, views = _made_nest(group, updated)
        return nest, tuple(map(given.index, views))

    nest, places = _NESTS.get((operations_key(group.members), head, place), made)
    return nest, [given[place] for place in places]


def _made_nest(group: KernelGroup, updated: ArrayView | None) -> tuple[TensorNest, list[ArrayView]]:
    draft = NestBuilder()
    root, dtype = group.root, group.root.result.dtype
    body = operator_body(group.head, draft, group.shape)
    values: dict[ArraySource, Expression] = {}
    kept: list[NestStatement] = []
    temporaries = list(body.temporaries)
    whole = tuple(body.extents[name] for name in body.indices)
    for member in group.members:
        value = body.result
        if member is not group.head:
            parts = [
                values[view.source]
                if view.source in values
                else draft.read(view, broadcast_indices(view.shape, body.logical))
                for view in member.operands
            ]
            kind = member.operands[0].dtype
            value = _apply_function(member, parts, kind)
            if expression_size(value) > _MAX_EXPRESSION:
                # A text has each part as often as it is used: so large ones get memory.
                parts = [
                    _as_temporary(part, kind, body.indices, whole, kept, temporaries)
                    for part in parts
                ]
                value = _apply_function(member, parts, kind)
        values[member.result] = value
    target = _RESULT
    if updated is not None:
        target = draft.read(updated, body.logical).array
    elif root.head == INSET:
        target = draft.parameter(whole_array(root.result), _inset_shape(root, body))
    statements = [*body.statements, *kept]
    main = next((array for array in temporaries if array.name == MAIN_STATEMENT), None)
    is_read = any(access.array == MAIN_STATEMENT for access in array_accesses(value))
    follows = not isinstance(value, ArrayAccess)
    if main is not None and main.dtype == dtype and is_read and (body.in_place or not follows):
        temporaries.remove(main)
        statements = [_renamed(statement, MAIN_STATEMENT, target) for statement in statements]
        value = _renamed_in(value, MAIN_STATEMENT, target)
    if not (isinstance(value, ArrayAccess) and value.array == target):
        statements.append(NestStatement(target, body.indices, "=", value))
    arrays = [*draft.arrays, *temporaries]
    if target == _RESULT:
        arrays.append(NestArray(_RESULT, whole, dtype))
    nest = TensorNest(
        tuple(body.extents.items()), tuple(arrays), len(draft.arrays), tuple(statements), target
    )
    return simplify(nest), draft.views


def _inset_shape(root: ArrayOperation, body: OperatorBody) -> tuple[int, ...]:
    """Return the extents of an inset's memory for the indices of what is written into it."""
    around = {
        index.single_index: before + after
        for index, (before, after) in zip(body.logical, inset_pads(root), strict=True)
        if before + after
    }
    assert None not in around, "axes with padding are indices of the body"
    return tuple(body.extents[name] + around.get(name, 0) for name in body.indices)


def _apply_function(
    operation: ArrayOperation, parts: Sequence[Expression], dtype: str
) -> Expression:
    """Return a function of elements.

    Raises:
        InputError: elements of this type have no such function.
    """
    name = operation.head.removeprefix(ACTIVATION)
    if name in ("copy", INSET):
        return parts[0]
    operator = operator_named(name)
    if operator.needs_floating and dtype.startswith("int"):
        raise InputError(f"{name}: expected elements of a floating type, found {dtype}")
    return TextTemplate(operator.element_text(NumberText(dtype), operation.literals), tuple(parts))


def _as_temporary(
    value: Expression,
    dtype: str,
    at: tuple[str, ...],
    shape: tuple[int, ...],
    statements: list[NestStatement],
    arrays: list[NestArray],
) -> Expression:
    """Return a value as an element of a temporary array, if it is not one of an array already."""
    if isinstance(value, ArrayAccess):
        return value
    name = f"t{len(statements)}"
    statements.append(NestStatement(name, at, "=", value))
    arrays.append(NestArray(name, shape, dtype))
    return ArrayAccess(name, tuple(map(index_named, at)))


def _renamed(statement: NestStatement, old: str, new: str) -> NestStatement:
    return NestStatement(
        new if statement.target == old else statement.target,
        statement.subscripts,
        statement.operator,
        _renamed_in(statement.value, old, new),
    )


def _renamed_in(expression: Expression, old: str, new: str) -> Expression:
    def access(element: ArrayAccess) -> ArrayAccess:
        return ArrayAccess(new, element.subscripts) if element.array == old else element

    return map_expression(expression, access)
