"""What a user sees of a step, and the memory that its kernel needs for itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from polygym.errors import InternalError
from polygym.graphs.ir.types import DTYPES, Tensor
from polygym.graphs.running.groups import Group
from polygym.graphs.running.kernels import Recipe
from polygym.graphs.running.memory import Block
from polygym.graphs.running.nests import Nest, operations
from polygym.graphs.running.plan import Copy, Launch, Layout
from polygym.graphs.running.views import View
from polygym.pickles import pickled_by_name
from polygym.tc.kernel import Kernel, Place

__all__ = ["Step", "described", "described_kernel", "with_temporaries"]


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Step:
    """What a step does: operators, shapes, the comprehension of its kernel ("" for a copy).

    ``operations`` counts functions and terms of sums, ``bytes`` what is read and written at least.
    """

    label: str
    reads: tuple[str, ...]
    writes: str
    text: str
    operations: int
    bytes: int


def described(step: Launch | Copy) -> Step:
    """Return the description of a step."""
    if isinstance(step, Copy):
        text = str(Tensor(step.view.shape, step.view.dtype))
        moved = 2 * step.view.elements * DTYPES[step.view.dtype]
        return Step("copy", (text,), text, "", 0, moved)
    views = [view for _, view in step.reads]
    return described_kernel(step.group, step.nest, step.recipe, views)


def described_kernel(group: Group, nest: Nest, recipe: Recipe, views: Sequence[View]) -> Step:
    """Return the description of a kernel, wherever its parameters lie."""
    reads = [Tensor(view.shape, view.dtype) for view in views]
    written = Tensor(group.root.result.shape, group.root.result.dtype)
    moved = sum(one.bytes for one in (*reads, written))
    names = tuple(map(str, reads))
    return Step(group.label, names, str(written), recipe.text, operations(nest), moved)


def _check(place: Place, step: Launch) -> None:
    """Refuse code that would write other elements, or more of them, than there is memory for."""
    if place.is_partial:
        raise InternalError(f"{step.group.label}: expected every element to be assigned")
    if place.output is None:
        return
    result = step.group.root.result
    found, expected = (prod(place.shape), place.dtype.name), (prod(result.shape), result.dtype)
    if found != expected:
        raise InternalError(f"{step.group.label}: expected {expected}, the code writes {found}")


def with_temporaries(
    layout: Layout, kernels: Sequence[Kernel | None]
) -> tuple[list[list[int]], list[Block]]:
    """Return the blocks of the temporary arrays of every kernel, and all blocks."""
    blocks = list(layout.blocks)
    found: list[list[int]] = []
    for number, (step, kernel) in enumerate(zip(layout.steps, kernels, strict=True)):
        own: list[int] = []
        for one in kernel.places if kernel is not None else ():
            assert isinstance(step, Launch)
            _check(one, step)
            if one.output is None and one.argument is None:
                own.append(len(blocks))
                size = prod(one.shape) * one.dtype.itemsize
                blocks.append(Block(size, number, number))
        found.append(own)
    return found, blocks
