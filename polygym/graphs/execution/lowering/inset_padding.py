"""Images that are written inside of their padding, which is there before a model runs.

Padding writes zeros around an image at every call, and a condition for every element. An inset
writes the image alone, in memory whose zeros nothing else overwrites. As a function of elements it
may be the end of a kernel, so that relu(conv(x, w)) is written where the next convolution reads it.

    y = relu x; z = pad 0 0-0-1-1-0-0-1-1 y  →  z = inset 0-0-1-1-0-0-1-1 y, in one kernel

Side conditions: the padding is 0, of axes of more than one element, and its result neither leaves
the model nor is a part of a concatenation.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import prod

from polygym.graphs.execution.ir.views import INSET, ArrayOperation, ArraySource
from polygym.graphs.operators.definition import literal_numbers
from polygym.graphs.operators.types import ELEMENT_BYTES

_MAX_BYTES = 1 << 21
"""Bytes of an inset that is a kernel of its own; padding is written where there was other data."""

_IMAGES = frozenset({"conv", "poolmax", "poolavg"})


def with_insets(
    operations: Sequence[ArrayOperation], outputs: Collection[ArraySource]
) -> tuple[ArrayOperation, ...]:
    """Return operations with insets in the place of padding, where that is possible."""
    makers = {operation.result: operation for operation in operations}
    kept = set(outputs)
    for operation in operations:
        if operation.head.startswith("concat"):
            kept |= {view.source for view in operation.operands}
    return tuple(
        _inset(operation, makers)
        if operation.head == "pad" and operation.result not in kept and _is_inset(operation)
        else operation
        for operation in operations
    )


def _inset(
    operation: ArrayOperation, makers: Mapping[ArraySource, ArrayOperation]
) -> ArrayOperation:
    """Return padding as an inset, or as it is where its memory would be new to the caches."""
    is_alone = _follows_product(operation, makers)
    elements = prod(operation.result.shape)
    if is_alone and elements * ELEMENT_BYTES[operation.result.dtype] > _MAX_BYTES:
        return operation
    return replace(operation, head=INSET, literals=(operation.literals[1], int(is_alone)))


def _follows_product(
    operation: ArrayOperation, makers: Mapping[ArraySource, ArrayOperation]
) -> bool:
    """Whether an inset is a kernel of its own, since a product makes what it is written from.

    A product, also a convolution by a kernel of 1 x 1, is fast where its rows lie in one piece; the
    functions of elements after it belong into its kernel.
    """
    stack = [operation.operands[0].source]
    while stack:
        maker = makers.get(stack.pop())
        if maker is None:
            continue
        if maker.is_elementwise:
            stack += [view.source for view in maker.operands if view.shape == maker.result.shape]
        elif maker.head not in _IMAGES or _is_product(maker):
            return True
    return False


def _is_product(operation: ArrayOperation) -> bool:
    return operation.head == "conv" and operation.operands[1].shape[2:4] == (1, 1)


def _is_inset(operation: ArrayOperation) -> bool:
    value, pads = float(operation.literals[0]), literal_numbers(operation.literals[1])
    extents = operation.operands[0].shape * 2
    return value == 0 and all(
        count >= 0 and (count == 0 or extent > 1)
        for count, extent in zip(pads, extents, strict=True)
    )


def inset_pads(operation: ArrayOperation) -> tuple[tuple[int, int], ...]:
    """Return how many zeros an inset has before and after every axis."""
    pads = literal_numbers(operation.literals[0])
    rank = len(pads) // 2
    return tuple(zip(pads[:rank], pads[rank:], strict=True))


def inset_start(operation: ArrayOperation) -> int:
    """Return the number of elements before the first one that an inset writes."""
    start = 0
    for (before, _), extent in zip(inset_pads(operation), operation.result.shape, strict=True):
        start = start * extent + before
    return start


def ends_in_inset(operation: ArrayOperation, inset: ArrayOperation) -> bool:
    """Whether an operation's kernel may write an inset: images do, row by row."""
    if inset.literals[1]:
        return False
    is_image = operation.head in _IMAGES and not any(map(any, inset_pads(inset)[:2]))
    return operation.is_elementwise or is_image
