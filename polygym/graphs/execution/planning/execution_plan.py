"""Steps in order, and where every array lies: what is decided about a model before it runs.

An array lies in a *storage*: an input or a result of the call, a constant, or a block of the arena.
Parts of a concatenation whose parts lie one after the other are written where they belong; an
element-wise operation writes over an operand that nothing needs any longer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import Any, TypeAlias

import numpy as np

from polygym.graphs.execution.ir.nests import TensorNest, nest_text
from polygym.graphs.execution.ir.views import (
    INSET,
    ArrayOperation,
    ArraySource,
    ArrayView,
    slice_axis,
    whole_array,
)
from polygym.graphs.execution.lowering.graph_lowering import LoweredGraph
from polygym.graphs.execution.lowering.inset_padding import inset_pads, inset_start
from polygym.graphs.execution.lowering.kernel_groups import (
    KernelGroup,
    group_nest,
    group_operations,
)
from polygym.graphs.execution.planning.arena import ArenaBlock
from polygym.graphs.execution.planning.fusion import FusionDecisions, is_fusion_expected
from polygym.graphs.execution.planning.kernel_variants import (
    DEFAULT_VARIANT,
    KernelSource,
    KernelVariant,
    KernelVariants,
    WeightBlocking,
    expected_variant,
    has_variants,
    runs_along_sums,
)
from polygym.graphs.operators.types import ELEMENT_BYTES


class StorageKind(Enum):
    """What an array's memory is."""

    INPUT = "input"
    OUTPUT = "output"
    CONSTANT = "constant"
    ARENA = "arena"


@dataclass(frozen=True, slots=True, eq=False)
class ArrayStorage:
    """A piece of memory; ``number`` says which input, output, constant or block."""

    kind: StorageKind
    number: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StorageLocation:
    """So many bytes into a storage."""

    storage: ArrayStorage
    offset: int


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """A kernel, where its parameters lie and where its result comes to lie."""

    group: KernelGroup
    nest: TensorNest
    recipe: KernelSource
    reads: tuple[tuple[StorageLocation, ArrayView], ...]
    writes: StorageLocation


@dataclass(frozen=True, slots=True)
class ElementCopy:
    """Elements that are moved as they are: a part of a concatenation, a result that was there."""

    view: ArrayView
    reads: StorageLocation
    target: ArrayView
    writes: StorageLocation


_Run: TypeAlias = tuple[tuple[ArrayView, ...], StorageLocation]
"""Parts of a concatenation from one on, and where that one lies."""


@dataclass(slots=True)
class ExecutionPlan:
    """Steps, and the storages; a block for each storage of the arena, by its number."""

    steps: list[KernelLaunch | ElementCopy]
    inputs: list[ArrayStorage]
    outputs: list[ArrayStorage]
    constants: list[np.ndarray[Any, Any]]
    blocks: list[ArenaBlock]


def plan_execution(
    model: LoweredGraph, threads: int, fuse: bool, forms: KernelVariants | None = None
) -> ExecutionPlan:
    """Return the steps of a model and where everything lies; without ``forms``, all as usual."""
    return _ExecutionPlanner(model, threads, fuse, forms).layout()


def kernel_in_variant(
    group: KernelGroup,
    form: KernelVariant,
    threads: int,
    blocker: WeightBlocking,
    updated: ArrayView | None = None,
) -> tuple[TensorNest, KernelSource, list[ArrayView]] | None:
    """Return the kernel of a group in some form; None if there are no such weights."""
    chosen = blocker.blocked(group, form.block_width) if form.block_width else group
    if chosen is None:
        return None
    nest, views = group_nest(chosen, updated)
    reassociate = runs_along_sums(chosen.head)
    return nest, KernelSource(nest_text(nest), threads, reassociate, form.mapping_options), views


@dataclass
class _ExecutionPlanner:
    model: LoweredGraph
    threads: int
    fuse: bool
    forms: KernelVariants | None = None
    blocker: WeightBlocking = field(init=False)
    places: dict[ArraySource, StorageLocation] = field(default_factory=dict)
    overlapping: set[ArrayStorage] = field(default_factory=set)
    lasting: set[ArrayStorage] = field(default_factory=set)
    arena: list[ArrayStorage] = field(default_factory=list)
    constants: list[np.ndarray[Any, Any]] = field(default_factory=list)
    last_use: dict[ArraySource, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Know the constants."""
        self.blocker = WeightBlocking.over(self.model.constants)
        self.fusing = None if self.forms is None else FusionDecisions(self.forms)

    def layout(self) -> ExecutionPlan:
        """Return the steps, and storages with the first and the last step that needs them."""
        results = {view.source for view in self.model.outputs}
        groups = group_operations(
            self.model.operations, results, self._fuses if self.fuse else None
        )
        for number, group in enumerate(groups):
            for view in group.operands:
                self.last_use[view.source] = number
        self.last_use |= dict.fromkeys(results, len(groups))  # they are copied at the end
        inputs = [
            ArrayStorage(StorageKind.INPUT, number, _bytes(source))
            for number, source in enumerate(self.model.inputs)
        ]
        for source, storage in zip(self.model.inputs, inputs, strict=True):
            self.places[source] = StorageLocation(storage, 0)
        outputs = self._outputs()
        self._place_parts(groups)
        self._place_insets(groups)
        steps: list[KernelLaunch | ElementCopy] = []
        for number, group in enumerate(groups):
            steps += self._steps(group, number)
        for storage, view in zip(outputs, self.model.outputs, strict=True):
            here = self._place(view.source)
            if here.storage is not storage:
                steps.append(
                    ElementCopy(
                        view, here, whole_array(_array_like(view)), StorageLocation(storage, 0)
                    )
                )
        return ExecutionPlan(steps, inputs, outputs, self.constants, self._blocks(steps))

    def _fuses(self, operation: ArrayOperation, group: KernelGroup) -> bool:
        return (
            is_fusion_expected(operation)
            if self.fusing is None
            else self.fusing.is_faster_fused(operation, group)
        )

    def _outputs(self) -> list[ArrayStorage]:
        """Return the storages of the results; what an operation makes comes to lie there."""
        made = {operation.result for operation in self.model.operations}
        result = []
        for number, view in enumerate(self.model.outputs):
            storage = ArrayStorage(
                StorageKind.OUTPUT, number, view.elements * ELEMENT_BYTES[view.dtype]
            )
            result.append(storage)
            whole = prod(view.source.shape) == view.elements
            if (
                whole
                and view.is_whole_array
                and view.source in made
                and view.source not in self.places
            ):
                self.places[view.source] = StorageLocation(storage, 0)
        return result

    def _place_parts(self, groups: Sequence[KernelGroup]) -> None:
        """Let parts of concatenations be written where they belong, the outer ones first."""
        made = {group.root.result for group in groups}
        wholes: dict[ArrayView, list[_Run]] = {}
        for group in reversed(groups):
            root = group.root
            if not root.head.startswith("concat") or prod(root.result.shape[: _axis(root)]) != 1:
                continue
            self._place_run(root, wholes)
            whole = self._place(root.result)
            offset = whole.offset
            places = []
            for view in root.operands:
                source = view.source
                is_whole = view.is_whole_array and prod(source.shape) == view.elements
                if is_whole and source in made and source not in self.places:
                    self.places[source] = StorageLocation(whole.storage, offset)
                    self.overlapping.add(whole.storage)
                places.append(offset)
                offset += view.elements * ELEMENT_BYTES[view.dtype]
            for number, view in enumerate(root.operands):
                here = StorageLocation(whole.storage, places[number])
                wholes.setdefault(view, []).append((root.operands[number:], here))

    def _place_run(self, root: ArrayOperation, wholes: Mapping[ArrayView, list[_Run]]) -> None:
        """Let a concatenation be a piece of a larger one that has all of its parts in this order.

        Layers of a dense block read the concatenation of all layers before: each is the beginning
        of the last one, so that no part is copied.
        """
        if root.result in self.places:
            return
        for run, location in wholes.get(root.operands[0], []):
            if run[: len(root.operands)] == root.operands:
                self.places[root.result] = location
                self.overlapping.add(location.storage)
                return

    def _place_insets(self, groups: Sequence[KernelGroup]) -> None:
        """Give insets memory that nothing else is written to, so that its zeros stay.

        Equal ones share it where they are not needed at the same time. A kernel takes the first
        element that it writes for that of the whole array: so there is as much behind it.
        """
        pools: dict[Any, list[tuple[int, ArrayStorage]]] = {}
        for number, group in enumerate(groups):
            root = group.root
            if root.head != INSET:
                continue
            key = root.result.shape, root.result.dtype, inset_pads(root)
            pool = pools.setdefault(key, [])
            free = [entry for entry in pool if entry[0] < number]
            if free:
                pool.remove(free[-1])
                storage = free[-1][1]
            else:
                before = inset_start(root) * ELEMENT_BYTES[root.result.dtype]
                size = _bytes(root.result) + before
                storage = ArrayStorage(StorageKind.ARENA, len(self.arena), size)
                self.arena.append(storage)
                self.overlapping.add(storage)
                self.lasting.add(storage)
            pool.append((self.last_use.get(root.result, number), storage))
            self.places[root.result] = StorageLocation(storage, 0)

    def _place(self, source: ArraySource) -> StorageLocation:
        """Return where an array lies; a new one gets a block of its own."""
        if source not in self.places:
            known = self.blocker.constants.get(source)
            if known is None:
                storage = ArrayStorage(StorageKind.ARENA, len(self.arena), _bytes(source))
                self.arena.append(storage)
            else:
                storage = ArrayStorage(StorageKind.CONSTANT, len(self.constants), _bytes(source))
                self.constants.append(known)
            self.places[source] = StorageLocation(storage, 0)
        return self.places[source]

    def _view_location(self, view: ArrayView) -> StorageLocation:
        """Return where the array begins that a view looks at."""
        place = self._place(view.source)
        return StorageLocation(place.storage, place.offset + view.start * ELEMENT_BYTES[view.dtype])

    def _steps(self, group: KernelGroup, number: int) -> list[KernelLaunch | ElementCopy]:
        root = group.root
        if root.head.startswith("concat"):
            return list(self._copies(root))
        updated = self._reusable_operand(group, number)
        if updated is not None:
            self.places[root.result] = self._place(updated.source)
        nest, recipe, views = self._kernel(group, updated)
        reads = tuple((self._view_location(view), view) for view in views)
        writes = self._place(root.result)
        if root.head == INSET:
            before = inset_start(root) * ELEMENT_BYTES[root.result.dtype]
            writes = StorageLocation(writes.storage, writes.offset + before)
        return [KernelLaunch(group, nest, recipe, reads, writes)]

    def _kernel(
        self, group: KernelGroup, updated: ArrayView | None
    ) -> tuple[TensorNest, KernelSource, list[ArrayView]]:
        """Return the kernel of a group in the form that is the fastest, as measured or expected."""
        usual = kernel_in_variant(group, DEFAULT_VARIANT, self.threads, self.blocker, updated)
        assert usual is not None, "nothing is in blocks"
        if not has_variants(group):
            return usual
        text = usual[1].text
        if self.forms is not None and self.forms.seconds(text) is not None:
            form = self.forms.fastest(text)
        else:
            form = expected_variant(group, self.blocker.constants)
        if form == DEFAULT_VARIANT:
            return usual
        return kernel_in_variant(group, form, self.threads, self.blocker, updated) or usual

    def _copies(self, root: ArrayOperation) -> Iterable[ElementCopy]:
        axis, start = _axis(root), 0
        whole = self._place(root.result)
        for view in root.operands:
            target = slice_axis(whole_array(root.result), axis, start, view.shape[axis])
            start += view.shape[axis]
            here = self._place(view.source)
            there = whole.offset + target.start * ELEMENT_BYTES[view.dtype]
            is_there = here == StorageLocation(whole.storage, there)
            if not (is_there and view.is_whole_array and target.is_whole_array):
                yield ElementCopy(view, here, target, whole)

    def _reusable_operand(self, group: KernelGroup, number: int) -> ArrayView | None:
        """Return an operand of an element-wise group that nothing needs afterwards."""
        root = group.root
        if group.head is not None or root.result in self.places:
            return None
        views = group.operands
        for view in views:
            place = self.places.get(view.source)
            alone = all(
                array_view.is_whole_array and array_view.shape == view.shape
                for array_view in views
                if array_view.source is view.source
            )
            if (
                place is not None
                and place.storage.kind is StorageKind.ARENA
                and place.storage not in self.overlapping
                and self.last_use[view.source] == number
                and alone
                and view.is_whole_array
                and view.shape == root.result.shape
                and view.elements == prod(view.source.shape)
                and view.dtype == root.result.dtype
            ):
                return view
        return None

    def _blocks(self, steps: Sequence[KernelLaunch | ElementCopy]) -> list[ArenaBlock]:
        needed: dict[int, list[int]] = {}
        for number, step in enumerate(steps):
            reads = (
                [place for place, _ in step.reads]
                if isinstance(step, KernelLaunch)
                else [step.reads]
            )
            for place in (*reads, step.writes):
                if place.storage.kind is StorageKind.ARENA:
                    needed.setdefault(place.storage.number, []).append(number)
        for storage in self.lasting:
            needed[storage.number] = [0, len(steps) - 1]
        return [
            ArenaBlock(
                storage.bytes,
                min(needed.get(storage.number, [0])),
                max(needed.get(storage.number, [0])),
            )
            for storage in self.arena
        ]


def _axis(root: ArrayOperation) -> int:
    return int(root.literals[0])


def _bytes(source: ArraySource) -> int:
    return prod(source.shape) * ELEMENT_BYTES[source.dtype]


def _array_like(view: ArrayView) -> ArraySource:
    return ArraySource(view.shape, view.dtype)
