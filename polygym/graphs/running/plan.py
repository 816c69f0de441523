"""Steps in order, and where every array lies: what is decided about a model before it runs.

An array lies in a *storage*: an input or a result of the call, a constant, or a block of the arena.
Parts of a concatenation whose parts lie one after the other are written where they belong; an
element-wise operation writes over an operand that nobody needs any longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import Any

import numpy as np

from polygym.graphs.ir.types import DTYPES
from polygym.graphs.running.forms import USUAL, Blocker, Form, Forms, has_forms
from polygym.graphs.running.fusing import Fusing, expected
from polygym.graphs.running.groups import Group, grouped, nest_of
from polygym.graphs.running.kernels import Recipe
from polygym.graphs.running.lowering import Traced
from polygym.graphs.running.memory import Block
from polygym.graphs.running.nests import Nest
from polygym.graphs.running.operations import Operation
from polygym.graphs.running.texts import text_of
from polygym.graphs.running.views import Source, View, plain, sliced

__all__ = ["Copy", "Kind", "Launch", "Layout", "Place", "Storage", "formed", "laid_out"]

_SUMMING = frozenset(
    {"softmax", "layer-norm", "reduce-sum", "reduce-mean", "reduce-max", "matmul-row"}
)


class Kind(Enum):
    """What an array's memory is."""

    INPUT = "input"
    OUTPUT = "output"
    CONSTANT = "constant"
    ARENA = "arena"


@dataclass(frozen=True, slots=True, eq=False)
class Storage:
    """A piece of memory; ``number`` says which input, output, constant or block."""

    kind: Kind
    number: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Place:
    """So many bytes into a storage."""

    storage: Storage
    offset: int


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel, where its parameters lie and where its result comes to lie."""

    group: Group
    nest: Nest
    recipe: Recipe
    reads: tuple[tuple[Place, View], ...]
    writes: Place


@dataclass(frozen=True, slots=True)
class Copy:
    """Elements that are moved as they are: a part of a concatenation, a result that was there."""

    view: View
    reads: Place
    target: View
    writes: Place


@dataclass(slots=True)
class Layout:
    """Steps, and the storages; a block for each storage of the arena, by its number."""

    steps: list[Launch | Copy]
    inputs: list[Storage]
    outputs: list[Storage]
    constants: list[np.ndarray[Any, Any]]
    blocks: list[Block]


def laid_out(model: Traced, threads: int, fuse: bool, forms: Forms | None = None) -> Layout:
    """Return the steps of a model and where everything lies; without ``forms``, all as usual."""
    return _Planner(model, threads, fuse, forms).layout()


def formed(
    group: Group, form: Form, threads: int, blocker: Blocker, updated: View | None = None
) -> tuple[Nest, Recipe, list[View]] | None:
    """Return the kernel of a group in some form; None if there are no such weights."""
    chosen = blocker.blocked(group, form.block) if form.block else group
    if chosen is None:
        return None
    nest, views = nest_of(chosen, updated)
    reassociate = _runs_along_sums(chosen.head)
    return nest, Recipe(text_of(nest), threads, reassociate, form.words), views


@dataclass
class _Planner:
    model: Traced
    threads: int
    fuse: bool
    forms: Forms | None = None
    blocker: Blocker = field(init=False)
    places: dict[Source, Place] = field(default_factory=dict)
    shared: set[Storage] = field(default_factory=set)
    arena: list[Storage] = field(default_factory=list)
    constants: list[np.ndarray[Any, Any]] = field(default_factory=list)
    last_use: dict[Source, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Know the constants."""
        self.blocker = Blocker.over(self.model.constants)
        self.fusing = None if self.forms is None else Fusing(self.forms)

    def layout(self) -> Layout:
        """Return the steps, and storages with the first and the last step that needs them."""
        results = {view.source for view in self.model.outputs}
        groups = grouped(self.model.operations, results, self._fuses if self.fuse else None)
        for number, group in enumerate(groups):
            for view in group.operands:
                self.last_use[view.source] = number
        inputs = [
            Storage(Kind.INPUT, number, _bytes(source))
            for number, source in enumerate(self.model.inputs)
        ]
        for source, storage in zip(self.model.inputs, inputs, strict=True):
            self.places[source] = Place(storage, 0)
        outputs = self._outputs()
        self._place_parts(groups)
        steps: list[Launch | Copy] = []
        for number, group in enumerate(groups):
            steps += self._steps(group, number)
        for storage, view in zip(outputs, self.model.outputs, strict=True):
            here = self._place(view.source)
            if here.storage is not storage:
                steps.append(Copy(view, here, plain(_like(view)), Place(storage, 0)))
        return Layout(steps, inputs, outputs, self.constants, self._blocks(steps))

    def _fuses(self, one: Operation, group: Group) -> bool:
        return expected(one) if self.fusing is None else self.fusing.pays(one, group)

    def _outputs(self) -> list[Storage]:
        """Return the storages of the results; what an operation makes comes to lie there."""
        made = {one.result for one in self.model.operations}
        found = []
        for number, view in enumerate(self.model.outputs):
            storage = Storage(Kind.OUTPUT, number, view.elements * DTYPES[view.dtype])
            found.append(storage)
            whole = prod(view.source.shape) == view.elements
            if whole and view.is_plain and view.source in made and view.source not in self.places:
                self.places[view.source] = Place(storage, 0)
        return found

    def _place_parts(self, groups: Sequence[Group]) -> None:
        """Let parts of concatenations be written where they belong, the outer ones first."""
        made = {group.root.result for group in groups}
        for group in reversed(groups):
            root = group.root
            if not root.head.startswith("concat") or prod(root.result.shape[: _axis(root)]) != 1:
                continue
            whole = self._place(root.result)
            offset = whole.offset
            for view in root.operands:
                source = view.source
                is_whole = view.is_plain and prod(source.shape) == view.elements
                if is_whole and source in made and source not in self.places:
                    self.places[source] = Place(whole.storage, offset)
                    self.shared.add(whole.storage)
                offset += view.elements * DTYPES[view.dtype]

    def _place(self, source: Source) -> Place:
        """Return where an array lies; a new one gets a block of its own."""
        if source not in self.places:
            known = self.blocker.constants.get(source)
            if known is None:
                storage = Storage(Kind.ARENA, len(self.arena), _bytes(source))
                self.arena.append(storage)
            else:
                storage = Storage(Kind.CONSTANT, len(self.constants), _bytes(source))
                self.constants.append(known)
            self.places[source] = Place(storage, 0)
        return self.places[source]

    def _seen(self, view: View) -> Place:
        """Return where the array begins that a view looks at."""
        place = self._place(view.source)
        return Place(place.storage, place.offset + view.start * DTYPES[view.dtype])

    def _steps(self, group: Group, number: int) -> list[Launch | Copy]:
        root = group.root
        if root.head.startswith("concat"):
            return list(self._copies(root))
        updated = self._updated(group, number)
        if updated is not None:
            self.places[root.result] = self._place(updated.source)
        nest, recipe, views = self._kernel(group, updated)
        reads = tuple((self._seen(view), view) for view in views)
        return [Launch(group, nest, recipe, reads, self._place(root.result))]

    def _kernel(self, group: Group, updated: View | None) -> tuple[Nest, Recipe, list[View]]:
        """Return the kernel of a group in the form that is the fastest as far as is known."""
        usual = formed(group, USUAL, self.threads, self.blocker, updated)
        assert usual is not None, "nothing is in blocks"
        if self.forms is None or not has_forms(group):
            return usual
        form = self.forms.of(usual[1].text)
        if form == USUAL:
            return usual
        return formed(group, form, self.threads, self.blocker, updated) or usual

    def _copies(self, root: Operation) -> Iterable[Copy]:
        axis, start = _axis(root), 0
        whole = self._place(root.result)
        for view in root.operands:
            target = sliced(plain(root.result), axis, start, view.shape[axis])
            start += view.shape[axis]
            here = self._place(view.source)
            there = whole.offset + target.start * DTYPES[view.dtype]
            is_there = here == Place(whole.storage, there)
            if not (is_there and view.is_plain and target.is_plain):
                yield Copy(view, here, target, whole)

    def _updated(self, group: Group, number: int) -> View | None:
        """Return an operand of an element-wise group that nobody needs afterwards."""
        root = group.root
        if group.head is not None or root.result in self.places:
            return None
        views = group.operands
        for view in views:
            place = self.places.get(view.source)
            alone = all(
                one.is_plain and one.shape == view.shape
                for one in views
                if one.source is view.source
            )
            if (
                place is not None
                and place.storage.kind is Kind.ARENA
                and place.storage not in self.shared
                and self.last_use[view.source] == number
                and alone
                and view.is_plain
                and view.shape == root.result.shape
                and view.elements == prod(view.source.shape)
                and view.dtype == root.result.dtype
            ):
                return view
        return None

    def _blocks(self, steps: Sequence[Launch | Copy]) -> list[Block]:
        needed: dict[int, list[int]] = {}
        for number, step in enumerate(steps):
            reads = [place for place, _ in step.reads] if isinstance(step, Launch) else [step.reads]
            for place in (*reads, step.writes):
                if place.storage.kind is Kind.ARENA:
                    needed.setdefault(place.storage.number, []).append(number)
        return [
            Block(
                storage.bytes,
                min(needed.get(storage.number, [0])),
                max(needed.get(storage.number, [0])),
            )
            for storage in self.arena
        ]


def _runs_along_sums(head: Operation | None) -> bool:
    """Whether vectors are to run along what is summed up: there is little else along rows."""
    match head:
        case None:
            return False
        case Operation("matmul-row"):
            return head.operands[1].shape[2] == 1
        case Operation("poolavg" | "poolmax"):
            return prod(head.result.shape[2:]) == 1
        case _:
            return head.head in _SUMMING


def _axis(root: Operation) -> int:
    return int(root.literals[0])


def _bytes(source: Source) -> int:
    return prod(source.shape) * DTYPES[source.dtype]


def _like(view: View) -> Source:
    return Source(view.shape, view.dtype)
