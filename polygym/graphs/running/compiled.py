"""A model that is compiled: called with arrays, it runs its steps one after the other.

Everything that can be is done ahead: code is linked, memory laid out, argument blocks are filled.
A call writes the addresses of its inputs and results into the blocks that ask for them, and calls.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from polygym.errors import InputError
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.types import Tensor
from polygym.graphs.running.memory import ALIGNMENT, Plan, planned
from polygym.graphs.running.pages import gathered, room
from polygym.graphs.running.plan import Copy, Kind, Launch, Layout, Place, Storage
from polygym.graphs.running.steps import described, with_temporaries
from polygym.tc.addresses import address_of
from polygym.tc.kernel import Kernel

__all__ = ["Compiled"]

_Array: TypeAlias = "np.ndarray[Any, Any]"
_NOWHERE = [0]


class Compiled:
    """A model as machine code.

    Called with arrays in the order of the graph's inputs, NumPy's or PyTorch's, it returns what the
    graph computes, as the same kind: one result as it is, several as a list. ``steps`` describes
    what runs, ``memory`` where intermediate results lie.
    """

    def __init__(self, graph: Graph, layout: Layout, kernels: Sequence[Kernel | None]) -> None:
        """Lay out memory and prepare the calls."""
        self.graph = graph
        self.inputs = graph.signatures
        self.outputs = tuple((name, graph.tensor(one)) for name, one in graph.outputs)
        self.steps = tuple(map(described, layout.steps))
        self._kernels = tuple(kernels)
        self._constants = gathered(layout.constants)
        self._lock = threading.Lock()
        temporaries, blocks = with_temporaries(layout, kernels)
        self.blocks = tuple(blocks)
        self.memory: Plan = planned(blocks)
        self._aligned = room(max(self.memory.bytes, ALIGNMENT))
        self._base = address_of(self._aligned)
        self._patches: list[tuple[Any, int, Storage, int]] = []
        self._calls: list[Callable[[], int]] = []
        self._arrays: dict[Storage, _Array] = {}
        for step, kernel, own in zip(layout.steps, kernels, temporaries, strict=True):
            if isinstance(step, Launch):
                assert kernel is not None
                self._calls.append(self._launch(step, kernel, own))
            else:
                self._calls.append(self._copy(step))
        self._given, self._made = layout.inputs, layout.outputs

    def __repr__(self) -> str:
        """Say what it takes."""
        taken = ", ".join(f"{one.name}: {one.tensor}" for one in self.inputs)
        return f"<compiled {self.graph.name}({taken}) of {len(self.steps)} steps>"

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Compute; ``out`` is an array for every result, in a list if there are several.

        Raises:
            InputError: the arguments do not fit the inputs, or ``out`` the results.
        """
        values, torch = self._arguments(arrays)
        results = self._results(out, values)
        with self._lock:
            self._bind(values, results)
            for number, call in enumerate(self._calls):
                code = call()
                if code:
                    self._complain(number, code)
            self._arrays = {}
        if out is not None:
            return out
        found = [torch.from_numpy(one) for one in results] if torch is not None else results
        return found[0] if len(found) == 1 else found

    def profile(self, *arrays: Any, repeats: int = 10) -> list[float]:
        """Return the seconds of every step, the best of some calls.

        Raises:
            InputError: the arguments do not fit the inputs.
        """
        values, _ = self._arguments(arrays)
        results = self._results(None, values)
        best = [float("inf")] * len(self._calls)
        with self._lock:
            self._bind(values, results)
            for _ in range(max(repeats, 1)):
                for number, call in enumerate(self._calls):
                    start = time.perf_counter_ns()
                    code = call()
                    best[number] = min(best[number], (time.perf_counter_ns() - start) * 1e-9)
                    if code:
                        self._complain(number, code)
        return best

    def _arguments(self, arrays: Sequence[Any]) -> tuple[list[_Array], Any]:
        """Return arrays in C's order that fit, and PyTorch if its tensors were among them."""
        if len(arrays) != len(self.inputs):
            names = ", ".join(one.name for one in self.inputs)
            raise InputError(
                f"{self.graph.name}: expected {len(self.inputs)} arguments ({names}), "
                f"found {len(arrays)}"
            )
        torch = None
        found = []
        for signature, value in zip(self.inputs, arrays, strict=True):
            array = value
            if type(array) is not np.ndarray:
                if _is_of_torch(value):
                    torch = _torch()
                    value = value.detach().cpu().numpy()
                array = np.asarray(value)
            _check(f"{self.graph.name}: {signature.name}", array, signature.tensor)
            found.append(array if array.flags.c_contiguous else np.ascontiguousarray(array))
        return found, torch

    def _results(self, out: Any, values: Sequence[_Array]) -> list[_Array]:
        """Return memory for the results."""
        if out is None:
            return [np.empty(tensor.shape, tensor.dtype) for _, tensor in self.outputs]
        given = list(out) if isinstance(out, list | tuple) else [out]
        if len(given) != len(self.outputs):
            raise InputError(
                f"{self.graph.name}: out: expected {len(self.outputs)} arrays, found {len(given)}"
            )
        found: list[_Array] = []
        for (name, tensor), one in zip(self.outputs, given, strict=True):
            place = f"{self.graph.name}: out: {name}"
            array = one.detach().numpy() if _is_of_torch(one) else one
            if not isinstance(array, np.ndarray):
                raise InputError(f"{place}: expected an array, found {type(one).__name__}")
            _check(place, array, tensor)
            if not (array.flags.c_contiguous and array.flags.writeable):
                raise InputError(f"{place}: expected contiguous memory to write to")
            if any(np.may_share_memory(array, other) for other in (*values, *found)):
                raise InputError(f"{place}: expected memory that no other array shares")
            found.append(array)
        return found

    def _bind(self, values: Sequence[_Array], results: Sequence[_Array]) -> None:
        """Write where this call's arrays lie into the argument blocks."""
        self._arrays = dict(zip([*self._given, *self._made], [*values, *results], strict=True))
        addresses = {storage: address_of(one) for storage, one in self._arrays.items()}
        for block, slot, storage, offset in self._patches:
            block[slot] = addresses[storage] + offset
        for kernel in self._kernels:
            if kernel is not None:
                kernel.expect_threads()

    def _complain(self, number: int, code: int) -> NoReturn:
        """Say what went wrong in a step; copies never do."""
        kernel = self._kernels[number]
        assert kernel is not None
        kernel.complain(code)

    def _address(self, place: Place) -> int:
        """Return an address that stays, 0 for that of an argument or result."""
        match place.storage.kind:
            case Kind.ARENA:
                return self._base + self.memory.offsets[place.storage.number] + place.offset
            case Kind.CONSTANT:
                return address_of(self._constants[place.storage.number]) + place.offset
            case _:
                return 0

    def _launch(self, step: Launch, kernel: Kernel, temporaries: Sequence[int]) -> Any:
        """Return a call of a kernel, without arguments."""
        places: list[Place | int] = []
        own = iter(temporaries)
        for one in kernel.places:
            if one.output is not None:
                places.append(step.writes)
            elif one.argument is not None:
                places.append(step.reads[one.argument][0])
            else:
                places.append(self._base + self.memory.offsets[next(own)])
        found = [one if isinstance(one, int) else self._address(one) for one in places]
        entry, block = kernel.prepared(found)
        for slot, place in enumerate(places):
            if not isinstance(place, int) and place.storage.kind in (Kind.INPUT, Kind.OUTPUT):
                self._patches.append((block, slot, place.storage, place.offset))
        return lambda: entry(block, _NOWHERE)

    def _copy(self, step: Copy) -> Callable[[], int]:
        """Return a function that moves elements."""

        def move() -> int:
            source = step.view.seen(self._flat(step.reads, step.view.dtype))
            step.target.seen(self._flat(step.writes, step.target.dtype))[...] = source
            return 0

        return move

    def _flat(self, place: Place, dtype: str) -> _Array:
        """Return the elements of a storage in one row, from a place on."""
        match place.storage.kind:
            case Kind.ARENA:
                start = self.memory.offsets[place.storage.number]
                whole = self._aligned[start : start + place.storage.bytes]
            case Kind.CONSTANT:
                whole = self._constants[place.storage.number].reshape(-1).view(np.uint8)
            case _:
                whole = self._arrays[place.storage].reshape(-1).view(np.uint8)
        return whole[place.offset :].view(dtype)


def _check(place: str, array: _Array, expected: Tensor) -> None:
    if array.dtype.name != expected.dtype:
        raise InputError(
            f"{place}: expected elements of type {expected.dtype}, found {array.dtype.name}"
        )
    if array.shape != expected.shape:
        raise InputError(f"{place}: expected shape {expected.shape}, found {array.shape}")


def _is_of_torch(value: Any) -> bool:
    """Whether a value is a tensor, known by its class's name: nothing is imported for it."""
    return any(
        one.__module__.partition(".")[0] == "torch" and one.__name__ == "Tensor"
        for one in type(value).__mro__
    )


def _torch() -> Any:
    import torch

    return torch
