"""Addresses of elements; loads and stores of one or of many lanes.

A[i][j][k] stands at (i·e₁ + j)·e₂ + k, with eₖ the sizes of the inner dimensions. In lanes the
subscripts belong to lane 0, and what matters is by how much the offset grows from lane to lane: 0
is one load for all lanes, 1 a vector load, -1 a reversed one, anything else (a column of a matrix,
a subscript that is no linear function) a gather of single elements. Masked lanes touch no memory.
A subscript that is computed, X[I[i]], is a variable that has its value, or one for every lane.

What an access needs and nobody could prove is checked before it is made. Alignment is that of one
element, which the caller's arrays have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from llvmlite import ir

from polygym.codegen.llvm.core import types
from polygym.codegen.llvm.core.binary_interface import BrokenAssumption
from polygym.codegen.llvm.core.emit_index import (
    Environment,
    LaneSet,
    emit_index,
    emit_sum,
    lane_values,
)
from polygym.codegen.llvm.core.runtime_checks import RuntimeChecks
from polygym.codegen.loopir import ir as loop_ir
from polygym.codegen.loopir.index_arithmetic import strides_along
from polygym.codegen.loopir.linear_sums import linearized_offset
from polygym.codegen.recurrences.streams.emit import ask_for, store_past
from polygym.ir.scop import Scop

_LANE_VARIABLE = "#along"  # no name in C


class Element(NamedTuple):
    """An element of an array: its subscripts, and the values of the variables in them."""

    array: str
    subscripts: tuple[loop_ir.Index, ...]
    environment: Environment

    def at(self, variable: str, value: Any) -> Element:
        """Return the element where a variable has a value."""
        return self._replace(environment=self.environment | {variable: value})


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
    exact: frozenset[loop_ir.Index] = frozenset()

    def element_type(self, array: str) -> Any:
        """Return the LLVM type of an array's elements."""
        return types.LLVM_TYPE[self.scop.array(array).type]

    def load(self, place: Element, *, check: bool = False) -> Any:
        """Load an element; where it would be outside its array the result is 0."""
        builder, element = self.builder, self.element_type(place.array)
        if not self._checks(place, check=check):
            return builder.load(self.address(place), typ=element)
        outside = self._is_outside(place)
        before = builder.block
        with builder.if_then(builder.not_(outside)):
            value = builder.load(self.address(place), typ=element)
            inside = builder.block
        result = builder.phi(element)
        result.add_incoming(ir.Constant(element, 0), before)
        result.add_incoming(value, inside)
        return result

    def store(self, value: Any, place: Element, *, check: bool = False) -> None:
        """Store an element, if it is in its array."""
        builder = self.builder
        if not self._checks(place, check=check):
            builder.store(value, self.address(place))
            return
        outside = self._is_outside(place)
        with builder.if_then(builder.not_(outside)):
            builder.store(value, self.address(place))

    def address(self, place: Element, *, exists: bool = True) -> Any:
        """Return the address of an element; without ``exists`` it need not be one of the array.

        An element that exists has been proved or checked to lie inside the array, which is an
        object of the caller's with all its elements: so the address is ``inbounds``, and no product
        on the way to it wraps (``nsw``), since each is the number of an element.
        """
        array, subscripts, environment = place
        storage = self.storage[array]
        if not subscripts:
            return storage
        builder = self.builder
        flags = ("nsw",) if exists else ()
        offset = emit_index(builder, subscripts[0], environment, self.exact)
        for extent, subscript in zip(self.extents[array][1:], subscripts[1:], strict=True):
            scaled = builder.mul(offset, extent, flags=flags)
            inner = emit_index(builder, subscript, environment, self.exact)
            offset = builder.add(scaled, inner, flags=flags)
        return self._offset_address(array, offset, is_inside=exists)

    def _offset_address(self, array: str, offset: Any, *, is_inside: bool = True) -> Any:
        """Return the address of the element of a number, in the order of memory."""
        kind, begin = self.element_type(array), self.storage[array]
        return self.builder.gep(begin, [offset], inbounds=is_inside, source_etype=kind)

    def _vector(self, place: Element) -> Any:
        """Return the address of a vector's first element, which exists, as one sum.

        So vectors of rows that run together, A[i + 1][j] of one and A[i][j] of the next, have the
        same address to the letter, and LLVM loads what is there once. Example, rows of 100::

            A[i - 2t][j - 2t + 1]   →   ((t·-202 + i·100) + j) + 1
        """
        extents = self.extents[place.array][1:]
        sizes = [extent.constant for extent in extents if isinstance(extent, ir.Constant)]
        if len(sizes) < len(extents):
            return self.address(place)
        terms = linearized_offset(place.subscripts, sizes)
        offset = emit_sum(self.builder, terms, place.environment, self.exact)
        return self._offset_address(place.array, offset)

    def _checks(self, place: Element, *, check: bool) -> bool:
        return bool(place.subscripts) and (check or self.is_instrumented)

    def _is_outside(self, place: Element) -> Any:
        """Return whether an element is outside its array, after recording that it is."""
        assert self.checks is not None
        builder = self.builder
        # One comparison for both ends: without its sign, a negative number is a large one.
        tests = (
            builder.icmp_unsigned(">=", emit_index(builder, subscript, place.environment), extent)
            for subscript, extent in zip(place.subscripts, self.extents[place.array], strict=True)
        )
        outside = reduce(builder.or_, tests)
        self.checks.record_violation(builder, BrokenAssumption.OUT_OF_BOUNDS, outside)
        return outside

    def load_lanes(self, place: Element, lanes: LaneSet, *, check: bool = False) -> Any:
        """Load the elements of all lanes; what masked lanes get is of no importance."""
        if self._checks(place, check=check):
            return self.gather_lanes(place, lanes, check=check)
        builder, array = self.builder, place.array
        steps = strides_along(place.subscripts, lanes.variable)
        kind = types.LaneType(self.element_type(array), lanes.width)
        first = place.at(lanes.variable, lanes.base)
        if steps is not None and not any(steps):
            # Lane 0 exists whenever any does.
            return types.splat(builder, self.load(first), lanes.width)
        if steps is not None and not any(steps[:-1]) and steps[-1] == 1:
            address = self._vector(first)
            if lanes.mask is None:
                return builder.load(address, typ=kind, align=self._size(array))
            return self._masked_load(array, address, lanes.mask, kind)
        if steps is not None and not any(steps[:-1]) and steps[-1] == -1:
            last = place.at(lanes.variable, lanes.lane(builder, lanes.width - 1))
            if lanes.mask is None:
                loaded = builder.load(self._vector(last), typ=kind, align=self._size(array))
                return types.reverse_lanes(builder, loaded)
            # Lanes that do not exist come first in memory, and may be outside.
            address = self.address(last, exists=False)
            mask = types.reverse_lanes(builder, lanes.mask)
            return types.reverse_lanes(builder, self._masked_load(array, address, mask, kind))
        addresses = self._addresses(place, lanes, steps)
        return self._masked_load(array, addresses, self._full_mask(lanes), kind)

    def gather_lanes(self, place: Element, lanes: LaneSet, *, check: bool = False) -> Any:
        """Load an element for each lane, wherever they are; those outside their array are 0."""
        addresses, mask = self._each_address(place, lanes, check=check)
        kind = types.LaneType(self.element_type(place.array), lanes.width)
        return self._masked_load(place.array, addresses, mask, kind)

    def _each_address(self, place: Element, lanes: LaneSet, *, check: bool) -> tuple[Any, Any]:
        """Return the vector of addresses, and the mask of those that are to be used.

        Nothing is promised of it (no ``nsw``, no ``inbounds``): lanes that do not exist have
        addresses, too.
        """
        builder, array = self.builder, place.array
        mask = self._full_mask(lanes)
        offset: Any = None
        for extent, subscript in zip(self.extents[array], place.subscripts, strict=True):
            wide = types.splat(builder, extent, lanes.width)
            value = lane_values(builder, subscript, place.environment, lanes)
            offset = value if offset is None else builder.add(builder.mul(offset, wide), value)
            if self._checks(place, check=check):
                assert self.checks is not None
                none = ir.Constant(mask.type, None)
                # A lane that does not exist may have no value: hence no `and`.
                bad = builder.select(mask, builder.icmp_unsigned(">=", value, wide), none)
                self.checks.record_violation(builder, BrokenAssumption.OUT_OF_BOUNDS, bad)
                mask = builder.select(bad, none, mask)
        return self._vector_of_addresses(self.storage[array], array, offset, lanes), mask

    def store_lanes(
        self, value: Any, place: Element, lanes: LaneSet, *, check: bool = False, past: bool = False
    ) -> None:
        """Store all lanes that exist, in their order; whole vectors ``past`` the caches, if so."""
        builder, array = self.builder, place.array
        if self._checks(place, check=check):
            self._masked_store(array, value, *self._each_address(place, lanes, check=check))
            return
        steps = strides_along(place.subscripts, lanes.variable)
        if steps and not any(steps[:-1]) and steps[-1] == 1:
            address = self._vector(place.at(lanes.variable, lanes.base))
            if lanes.mask is not None:
                self._masked_store(array, value, address, lanes.mask)
            elif past:
                store_past(self.module, builder, value, address, self._size(array))
            else:
                builder.store(value, address, align=self._size(array))
            return
        addresses = self._addresses(place, lanes, steps)
        self._masked_store(array, value, addresses, self._full_mask(lanes))

    def store_part(self, value: Any, place: Element, mask: Any) -> None:
        """Store those of a vector's elements that a mask has, from an element of the array on.

        That one need not exist: the mask may have none.
        """
        if self.is_instrumented:
            *rows, first = place.subscripts
            along = loop_ir.IndexOperator.ADD(first, loop_ir.IndexVariable(_LANE_VARIABLE))
            lanes = LaneSet(_LANE_VARIABLE, types.i64(0), value.type.count, mask)
            self.store_lanes(value, place._replace(subscripts=(*rows, along)), lanes)
            return
        self._masked_store(place.array, value, self.address(place, exists=False), mask)

    def prefetch(self, place: Element) -> None:
        """Ask for the line in which an element would be; it need not exist."""
        ask_for(self.module, self.builder, self.address(place, exists=False))

    def _addresses(self, place: Element, lanes: LaneSet, steps: tuple[int, ...] | None) -> Any:
        """Return the vector of the lanes' addresses.

        Lane 0 exists. Of others nothing is promised, but in expressions of a lane of its own: what
        has no value there stays in this lane, which is masked.
        """
        builder, array = self.builder, place.array
        if steps is not None:
            first = self.address(place.at(lanes.variable, lanes.base))
            growth: Any = types.i64(steps[0])
            for extent, step in zip(self.extents[array][1:], steps[1:], strict=True):
                growth = builder.add(builder.mul(growth, extent), types.i64(step))
            wide = types.splat(builder, growth, lanes.width)
            count = ir.Constant(types.LaneType(types.I64, lanes.width), list(range(lanes.width)))
            return self._vector_of_addresses(first, array, builder.mul(wide, count), lanes)
        vector: Any = ir.Constant(types.LaneType(types.POINTER, lanes.width), ir.Undefined)
        for number in range(lanes.width):
            address = self.address(place.at(lanes.variable, lanes.lane(builder, number)))
            vector = builder.insert_element(vector, address, types.i32(number))
        return vector

    def _vector_of_addresses(self, first: Any, array: str, offsets: Any, lanes: LaneSet) -> Any:
        addresses = self.builder.gep(first, [offsets], source_etype=self.element_type(array))
        addresses.type = types.LaneType(types.POINTER, lanes.width)
        return addresses

    def _full_mask(self, lanes: LaneSet) -> Any:
        if lanes.mask is not None:
            return lanes.mask
        return ir.Constant(types.LaneType(types.I1, lanes.width), [1] * lanes.width)

    def _size(self, array: str) -> int:
        return self.scop.array(array).type.size

    def _masked_load(self, array: str, address: Any, mask: Any, kind: Any) -> Any:
        """Load a vector, or one element from each of many addresses, where a mask is set."""
        is_gather = isinstance(address.type, ir.VectorType)
        name = "llvm.masked.gather" if is_gather else "llvm.masked.load"
        arguments = [address, types.i32(self._size(array)), mask, ir.Constant(kind, None)]
        return self._call_masked(name, kind, address.type, kind, arguments)

    def _masked_store(self, array: str, value: Any, address: Any, mask: Any) -> None:
        """Store a vector, or one element to each of many addresses, where a mask is set."""
        is_scatter = isinstance(address.type, ir.VectorType)
        name = "llvm.masked.scatter" if is_scatter else "llvm.masked.store"
        arguments = [value, address, types.i32(self._size(array)), mask]
        self._call_masked(name, value.type, address.type, ir.VoidType(), arguments)

    def _call_masked(
        self, name: str, value: Any, address: Any, result: Any, arguments: list[Any]
    ) -> Any:
        where = f"v{address.count}p0" if isinstance(address, ir.VectorType) else "p0"
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        full = f"{name}.{value.intrinsic_name}.{where}"
        return self.builder.call(types.declare_function(self.module, full, kind), arguments)
