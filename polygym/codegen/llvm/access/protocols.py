"""What the emitters of single things need of the emitter of a function, and no more.

:class:`~polygym.codegen.llvm.emit_function.FunctionEmitter` has all of it, and calls them;
they know it by these protocols alone, so that no module needs one that needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from llvmlite import ir

from polygym.codegen.common.reductions import MinMaxUpdate
from polygym.codegen.llvm.access.emit_gather import SubscriptChecks
from polygym.codegen.llvm.access.emit_memory import MemoryEmitter
from polygym.codegen.llvm.core.emit_index import Environment
from polygym.codegen.llvm.core.lane_set import LaneSet
from polygym.codegen.loopir.ir import Index, Lanes, Loop, LoopProgram, Node
from polygym.ir.scop import Statement

Cell: TypeAlias = tuple[str, tuple[Index, ...], Lanes | None]
"""What an instance writes: the array, the subscripts, the lanes."""
CellGroup: TypeAlias = tuple[Cell, ...]
"""Cells that are written together, or not at all."""


class AccessEmitter(Protocol):
    """A place in a function where elements are loaded and stored."""

    @property
    def builder(self) -> ir.IRBuilder:
        """Where instructions go."""
        ...

    @property
    def memory(self) -> MemoryEmitter:
        """Loads and stores."""
        ...

    @property
    def program(self) -> LoopProgram:
        """The program that code is made of."""
        ...

    @property
    def statements(self) -> Mapping[str, Statement]:
        """Its statements by name."""
        ...

    def lane_set(self, lanes: Lanes, environment: Environment) -> LaneSet:
        """Return the lanes of an instance as values."""
        ...


class ScalarReplacementEmitter(AccessEmitter, Protocol):
    """A place where elements may live in registers."""

    @property
    def held(self) -> dict[Cell, Any]:
        """The values of the cells that live in registers just now; others may be added."""
        ...

    @property
    def written(self) -> dict[CellGroup, Any]:
        """Whether those that a loop has loaded have been written since."""
        ...

    @property
    def min_max_keys(self) -> dict[Cell, MinMaxUpdate]:
        """The cells whose values are keys just now, and what is kept of them."""
        ...

    def emit_node(self, node: Node, environment: Environment) -> None:
        """Emit a node at the builder's place, and leave the builder after it."""
        ...


class LoopCarriedEmitter(AccessEmitter, Protocol):
    """A place where what iterations have written stays in registers for later ones."""

    @property
    def carried(self) -> dict[Cell, Any]:
        """The values of elements that are read of earlier iterations."""
        ...

    @property
    def results(self) -> dict[Cell, Any]:
        """What this one has written of what later ones read; others are not noted."""
        ...

    def emit_node(self, node: Node, environment: Environment) -> None:
        """Emit a node at the builder's place, and leave the builder after it."""
        ...


class CopyLoopEmitter(AccessEmitter, Protocol):
    """A place where loops copy elements."""

    def prefetch_ahead(
        self,
        statement: str,
        read: int,
        subscripts: tuple[Index, ...],
        environment: Environment,
        lanes: LaneSet,
    ) -> None:
        """Ask for what a read of lanes reads later, where that is to be."""
        ...

    def emit_counted_loop(
        self, loop: Loop, lower: Any, upper: Any, environment: Environment
    ) -> None:
        """Emit a loop whose bounds are values already."""
        ...


class OutliningEmitter(Protocol):
    """A function part of which can become another one."""

    @property
    def module(self) -> ir.Module:
        """The module of both."""
        ...

    @property
    def builder(self) -> ir.IRBuilder:
        """Where instructions go."""
        ...

    @property
    def program(self) -> LoopProgram:
        """The program that code is made of."""
        ...

    @property
    def parameters(self) -> Environment:
        """The values of the program's parameters."""
        ...

    @property
    def storage(self) -> Mapping[str, Any]:
        """Where arrays are."""
        ...

    @property
    def extents(self) -> Mapping[str, tuple[Any, ...]]:
        """The sizes of arrays."""
        ...

    @property
    def checks(self) -> SubscriptChecks | None:
        """What is checked as the function runs."""
        ...

    def for_function(
        self,
        builder: ir.IRBuilder,
        parameters: Environment,
        storage: Mapping[str, Any],
        extents: Mapping[str, tuple[Any, ...]],
        checks: SubscriptChecks | None,
    ) -> OutliningEmitter:
        """Return the same for another function, which begins at a builder."""
        ...

    def emit_counted_loop(
        self, loop: Loop, lower: Any, upper: Any, environment: Environment
    ) -> None:
        """Emit a loop whose bounds are values already."""
        ...
