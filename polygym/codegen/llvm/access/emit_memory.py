"""Where elements are, and loads and stores of one or of many lanes.

A[i][j][k] stands at (i·e₁ + j)·e₂ + k, with eₖ the sizes of the inner dimensions. In lanes the
subscripts belong to lane 0, and what matters is by how much the offset grows from lane to lane: 0
is one load for all lanes, 1 a vector load, -1 a reversed one, anything else (a column of a matrix,
a subscript that is no linear function) a gather of single elements. Masked lanes touch no memory.
A subscript that is computed, X[I[i]], is a variable that has its value, or one for every lane.

What an access needs and nobody could prove is checked before it is made. Alignment is that of one
element, which the caller's arrays have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from llvmlite import ir

from polygym.codegen.llvm.core.binary_interface import BrokenAssumption
from polygym.codegen.llvm.core.declarations import declare_function
from polygym.codegen.llvm.core.emit_index import Environment, emit_index, emit_sum
from polygym.codegen.llvm.core.lane_set import LaneSet, lane_values
from polygym.codegen.llvm.core.runtime_checks import RuntimeChecks
from polygym.codegen.llvm.core.types import (
    I1,
    I64,
    LLVM_TYPE,
    POINTER,
    LaneType,
    reverse_lanes,
    splat,
)
from polygym.codegen.loopir.index_arithmetic import coefficient
from polygym.codegen.loopir.ir import (
    Index,
    IndexOperation,
    IndexOperator,
    IndexVariable,
)
from polygym.codegen.loopir.linear_sums import linearized_offset
from polygym.codegen.recurrences.streams.emit import ask_for, store_past
from polygym.ir.scop import Scop

_LANE_VARIABLE = "#along"  # no name in C


@dataclass(frozen=True)
class MemoryEmitter:
    """Emits accesses in one function; ``storage`` and ``extents`` are keyed by array.

    An access with ``check`` is made only where it stays inside its array; where it does not, that
    is noted. With ``is_instrumented`` every access is.
    """

    module: ir.Module
    builder: ir.IRBuilder
    scop: Scop
    storage: Mapping[str, Any]
    extents: Mapping[str, tuple[Any, ...]]
    checks: RuntimeChecks | None = None
    is_instrumented: bool = False
    exact: frozenset[Index] = frozenset()

    def element(self, array: str) -> Any:
        """Return the LLVM type of an array's elements."""
        return LLVM_TYPE[self.scop.array(array).type]

    def load(
        self,
        array: str,
        subscripts: tuple[Index, ...],
        environment: Environment,
        *,
        check: bool = False,
    ) -> Any:
        """Load one element; 0 in the place of one that is outside."""
        builder, element = self.builder, self.element(array)
        if not self._checks(subscripts, check=check):
            address = self.address(array, subscripts, environment)
            return builder.load(address, typ=element)
        outside = self._is_outside(array, subscripts, environment)
        before = builder.block
        with builder.if_then(builder.not_(outside)):
            value = builder.load(self.address(array, subscripts, environment), typ=element)
            inside = builder.block
        phi_instr = builder.phi(element)
        phi_instr.add_incoming(ir.Constant(element, 0), before)
        phi_instr.add_incoming(value, inside)
        return phi_instr

    def store(
        self,
        value: Any,
        array: str,
        subscripts: tuple[Index, ...],
        environment: Environment,
        *,
        check: bool = False,
    ) -> None:
        """Store one element, unless it is outside."""
        builder = self.builder
        if not self._checks(subscripts, check=check):
            builder.store(value, self.address(array, subscripts, environment))
            return
        outside = self._is_outside(array, subscripts, environment)
        with builder.if_then(builder.not_(outside)):
            builder.store(value, self.address(array, subscripts, environment))

    def address(
        self,
        array: str,
        subscripts: tuple[Index, ...],
        environment: Environment,
        *,
        exists: bool = True,
    ) -> Any:
        """Return the address of an element; without ``exists`` it need not be one of the array.

        An element that exists has been proved or checked to lie inside the array, which is an
        object of the caller's with all its elements: so the address is ``inbounds``, and no product
        on the way to it wraps (``nsw``), since each is the number of an element.
        """
        storage = self.storage[array]
        if not subscripts:
            return storage
        builder = self.builder
        flags = ("nsw",) if exists else ()
        offset = emit_index(builder, subscripts[0], environment, self.exact)
        for extent, subscript in zip(self.extents[array][1:], subscripts[1:], strict=True):
            scaled = builder.mul(offset, extent, flags=flags)
            place = emit_index(builder, subscript, environment, self.exact)
            offset = builder.add(scaled, place, flags=flags)
        return builder.gep(storage, [offset], inbounds=exists, source_etype=self.element(array))

    def _vector(self, array: str, subscripts: tuple[Index, ...], environment: Environment) -> Any:
        """Return the address of a vector's first element, which exists, as one sum.

        So vectors of rows that run together, A[i + 1][j] of one and A[i][j] of the next, have the
        same address to the letter, and LLVM loads what is there once. Example, rows of 100::

            A[i - 2t][j - 2t + 1]   →   ((t·-202 + i·100) + j) + 1
        """
        extents = self.extents[array][1:]
        sizes = [extent.constant for extent in extents if isinstance(extent, ir.Constant)]
        if len(sizes) < len(extents):
            return self.address(array, subscripts, environment)
        offset = emit_sum(
            self.builder, linearized_offset(subscripts, sizes), environment, self.exact
        )
        storage, element = self.storage[array], self.element(array)
        return self.builder.gep(storage, [offset], inbounds=True, source_etype=element)

    def _checks(self, subscripts: tuple[Index, ...], *, check: bool) -> bool:
        return bool(subscripts) and (check or self.is_instrumented)

    def _is_outside(
        self, array: str, subscripts: tuple[Index, ...], environment: Environment
    ) -> Any:
        """Return whether an element is outside its array, after noting that it is."""
        assert self.checks is not None
        builder = self.builder
        icmpinstr = reduce(
            builder.or_,
            (
                # One comparison for both ends: without its sign, a negative number is a large one.
                builder.icmp_unsigned(">=", emit_index(builder, subscript, environment), extent)
                for subscript, extent in zip(subscripts, self.extents[array], strict=True)
            ),
        )
        self.checks.record_violation(builder, BrokenAssumption.OUT_OF_BOUNDS, icmpinstr)
        return icmpinstr

    def load_lanes(
        self,
        array: str,
        subscripts: tuple[Index, ...],
        environment: Environment,
        lanes: LaneSet,
        *,
        check: bool = False,
    ) -> Any:
        """Load the elements of all lanes; what masked lanes get is of no importance."""
        if self._checks(subscripts, check=check):
            return self.gather_lanes(array, subscripts, environment, lanes, check=check)
        builder = self.builder
        steps = self._steps(subscripts, lanes)
        kind = LaneType(self.element(array), lanes.width)
        first = environment | {lanes.variable: lanes.base}
        if steps is not None and not any(steps):
            # Lane 0 exists whenever any does.
            return splat(builder, self.load(array, subscripts, first), lanes.width)
        if steps is not None and not any(steps[:-1]) and steps[-1] == 1:
            address = self._vector(array, subscripts, first)
            if lanes.mask is None:
                return builder.load(address, typ=kind, align=self._size(array))
            return self._call_masked(
                "llvm.masked.load",
                kind,
                [address, self._alignment(array), lanes.mask, ir.Constant(kind, None)],
            )
        if steps is not None and not any(steps[:-1]) and steps[-1] == -1:
            last = environment | {lanes.variable: lanes.lane(builder, lanes.width - 1)}
            if lanes.mask is None:
                address = self._vector(array, subscripts, last)
                loaded = builder.load(address, typ=kind, align=self._size(array))
                return reverse_lanes(builder, loaded)
            # Lanes that do not exist come first in memory, and may be outside.
            address = self.address(array, subscripts, last, exists=False)
            mask, none = reverse_lanes(builder, lanes.mask), ir.Constant(kind, None)
            arguments = [address, self._alignment(array), mask, none]
            return reverse_lanes(builder, self._call_masked("llvm.masked.load", kind, arguments))
        addresses = self._addresses(array, subscripts, environment, lanes, steps)
        return self._call_masked(
            "llvm.masked.gather",
            kind,
            [addresses, self._alignment(array), self._full_mask(lanes), ir.Constant(kind, None)],
        )

    def gather_lanes(
        self,
        array: str,
        subscripts: tuple[Index, ...],
        environment: Environment,
        lanes: LaneSet,
        *,
        check: bool = False,
    ) -> Any:
        """Load an element for every lane where a subscript has a value of its own in each."""
        addresses, mask = self._each_address(array, subscripts, environment, lanes, check=check)
        kind = LaneType(self.element(array), lanes.width)
        return self._call_masked(
            "llvm.masked.gather",
            kind,
            [addresses, self._alignment(array), mask, ir.Constant(kind, None)],
        )

    def _each_address(
        self,
        array: str,
        subscripts: tuple[Index, ...],
        environment: Environment,
        lanes: LaneSet,
        *,
        check: bool,
    ) -> tuple[Any, Any]:
        """Return the vector of addresses, and the mask of those that are to be used.

        Nothing is promised of it (no ``nsw``, no ``inbounds``): lanes that do not exist have
        addresses, too.
        """
        builder = self.builder
        mask = self._full_mask(lanes)
        offset: Any = None
        for extent, subscript in zip(self.extents[array], subscripts, strict=True):
            wide = splat(builder, extent, lanes.width)
            value = lane_values(builder, subscript, environment, lanes)
            offset = value if offset is None else builder.add(builder.mul(offset, wide), value)
            if self._checks(subscripts, check=check):
                assert self.checks is not None
                none = ir.Constant(mask.type, None)
                # A lane that does not exist may have no value: hence no `and`.
                bad = builder.select(mask, builder.icmp_unsigned(">=", value, wide), none)
                self.checks.record_violation(builder, BrokenAssumption.OUT_OF_BOUNDS, bad)
                mask = builder.select(bad, none, mask)
        addresses = builder.gep(self.storage[array], [offset], source_etype=self.element(array))
        addresses.type = LaneType(POINTER, lanes.width)
        return addresses, mask

    def store_lanes(
        self,
        value: Any,
        array: str,
        subscripts: tuple[Index, ...],
        environment: Environment,
        lanes: LaneSet,
        *,
        check: bool = False,
        past: bool = False,
    ) -> None:
        """Store all lanes that exist, in their order; whole vectors ``past`` the caches, if so."""
        builder = self.builder
        if self._checks(subscripts, check=check):
            where = (array, subscripts, environment, lanes)
            addresses, mask = self._each_address(*where, check=check)
            self._call_masked(
                "llvm.masked.scatter", None, [value, addresses, self._alignment(array), mask]
            )
            return
        steps = self._steps(subscripts, lanes)
        first = environment | {lanes.variable: lanes.base}
        if steps is not None and steps and not any(steps[:-1]) and steps[-1] == 1:
            address = self._vector(array, subscripts, first)
            if lanes.mask is None and past:
                store_past(self.module, builder, value, address, self._size(array))
                return
            if lanes.mask is None:
                builder.store(value, address, align=self._size(array))
                return
            self._call_masked(
                "llvm.masked.store",
                None,
                [value, address, self._alignment(array), lanes.mask],
            )
            return
        addresses = self._addresses(array, subscripts, environment, lanes, steps)
        self._call_masked(
            "llvm.masked.scatter",
            None,
            [value, addresses, self._alignment(array), self._full_mask(lanes)],
        )

    def store_part(
        self,
        value: Any,
        array: str,
        subscripts: tuple[Index, ...],
        environment: Environment,
        mask: Any,
    ) -> None:
        """Store those of a vector's elements that a mask has, from an element of the array on.

        That one need not exist: the mask may have none.
        """
        if self.is_instrumented:
            *rows, first = subscripts
            along = IndexOperation(IndexOperator.ADD, (first, IndexVariable(_LANE_VARIABLE)))
            lanes = LaneSet(_LANE_VARIABLE, ir.Constant(I64, 0), value.type.count, mask)
            self.store_lanes(value, array, (*rows, along), environment, lanes)
            return
        address = self.address(array, subscripts, environment, exists=False)
        arguments = [value, address, self._alignment(array), mask]
        self._call_masked("llvm.masked.store", None, arguments)

    def prefetch(self, array: str, subscripts: tuple[Index, ...], environment: Environment) -> None:
        """Ask for the line in which an element would be; it need not exist."""
        address = self.address(array, subscripts, environment, exists=False)
        ask_for(self.module, self.builder, address)

    def _steps(self, subscripts: Sequence[Index], lanes: LaneSet) -> tuple[int, ...] | None:
        """Return by how much each subscript grows from lane to lane; None if one varies."""
        result = [coefficient(subscript, lanes.variable) for subscript in subscripts]
        known = tuple(step for step in result if step is not None)
        return known if len(known) == len(result) else None

    def _addresses(
        self,
        array: str,
        subscripts: tuple[Index, ...],
        environment: Environment,
        lanes: LaneSet,
        steps: tuple[int, ...] | None,
    ) -> Any:
        """Return the vector of the lanes' addresses.

        Lane 0 exists. Of others nothing is promised, but in expressions of a lane of its own: what
        has no value there stays in this lane, which is masked.
        """
        builder = self.builder
        if steps is not None:
            first = self.address(array, subscripts, environment | {lanes.variable: lanes.base})
            growth: Any = ir.Constant(I64, steps[0])
            for extent, step in zip(self.extents[array][1:], steps[1:], strict=True):
                growth = builder.add(builder.mul(growth, extent), ir.Constant(I64, step))
            wide = splat(builder, growth, lanes.width)
            count = ir.Constant(LaneType(I64, lanes.width), list(range(lanes.width)))
            offsets = builder.mul(wide, count)
            addresses = builder.gep(first, [offsets], source_etype=self.element(array))
            addresses.type = LaneType(POINTER, lanes.width)
            return addresses
        kind = LaneType(POINTER, lanes.width)
        vector: Any = ir.Constant(kind, ir.Undefined)
        for number in range(lanes.width):
            inside = environment | {lanes.variable: lanes.lane(builder, number)}
            address = self.address(array, subscripts, inside)
            vector = builder.insert_element(vector, address, ir.Constant(ir.IntType(32), number))
        return vector

    def _full_mask(self, lanes: LaneSet) -> Any:
        if lanes.mask is not None:
            return lanes.mask
        return ir.Constant(LaneType(I1, lanes.width), [1] * lanes.width)

    def _size(self, array: str) -> int:
        return self.scop.array(array).type.size

    def _alignment(self, array: str) -> Any:
        return ir.Constant(ir.IntType(32), self._size(array))

    def _call_masked(self, name: str, result: Any, arguments: list[Any]) -> Any:
        """Call an intrinsic whose name holds the types of its value and of its address."""
        stores = result is None
        value = arguments[0].type if stores else result
        address = arguments[1].type if stores else arguments[0].type
        where = f"v{address.count}p0" if isinstance(address, ir.VectorType) else "p0"
        full = f"{name}.{value.intrinsic_name}.{where}"
        kind = ir.FunctionType(
            ir.VoidType() if stores else result, [argument.type for argument in arguments]
        )
        return self.builder.call(declare_function(self.module, full, kind), arguments)
