"""A model that is compiled: called with arrays, it runs its steps one after the other.

Everything that can be is done ahead: code is linked, memory laid out, argument blocks are filled.
A call writes the addresses of its inputs and results into the blocks that ask for them, and calls.

Memory for what a model reads and writes, in huge pages where the kernel has any.

A processor remembers where a few thousand pages lie. Of 4 KiB each that is 10 MB; the weights of a
model are more, and products read them a row here and a row there. In pages of 2 MiB each all of
them are found at once. Weights that lie wherever they were made get such pages by luck, so they are
copied next to each other.
"""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from polygym.errors import InputError
from polygym.foreign.calls import EntryPoint
from polygym.foreign.libc import advise_huge_pages
from polygym.graphs.execution.ir.views import ArrayView, view_strides
from polygym.graphs.execution.lowering.graph_lowering import lower_graph
from polygym.graphs.execution.planning.arena import ALIGNMENT, ArenaPlan, plan_arena
from polygym.graphs.execution.planning.execution_plan import (
    ArrayStorage,
    ElementCopy,
    ExecutionPlan,
    KernelLaunch,
    StorageKind,
    StorageLocation,
    plan_execution,
)
from polygym.graphs.execution.planning.kernel_variants import (
    KernelVariants,
    compiled_kernel,
    user_variants,
)
from polygym.graphs.execution.runtime.call_sequence import CallSequence, call_alone
from polygym.graphs.execution.timing.step_profile import describe_step, plan_temporaries
from polygym.graphs.ir.graph import Graph, Model
from polygym.graphs.operators.types import TensorType, numpy_type
from polygym.runtime.loader import may_use_threads
from polygym.tc.arguments import address_of
from polygym.tc.kernel import CompiledKernel

_HUGE_PAGE = 1 << 21
_MIN_BYTES = 1 << 22
"""Bytes from which on huge pages are asked for."""

_Array = np.ndarray[Any, Any]


def zeroed_buffer(size: int) -> _Array:
    """Return so many bytes, all 0, that begin at a line of a cache.

    >>> memory = zeroed_buffer(100)
    >>> memory.size, address_of(memory) % ALIGNMENT
    (100, 0)
    """
    alignment = _HUGE_PAGE if size >= _MIN_BYTES else ALIGNMENT
    whole = np.zeros(size + alignment, np.uint8)
    shift = -address_of(whole) % alignment
    if size >= _MIN_BYTES:
        advise_huge_pages(address_of(whole) + shift, size // _HUGE_PAGE * _HUGE_PAGE)
    return whole[shift : shift + size]


def pack_arrays(arrays: Sequence[_Array]) -> list[_Array]:
    """Return copies of arrays next to each other, or the arrays where they are small together."""
    sizes = [-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in arrays]
    if sum(sizes) < _MIN_BYTES:
        return list(arrays)
    memory, begin = zeroed_buffer(sum(sizes)), 0
    result = []
    for array, size in zip(arrays, sizes, strict=True):
        copy = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        result.append(copy)
        begin += size
    return result


_NO_ADDRESS = [0]


class CompiledModel:
    """A model as machine code.

    Called with arrays in the order of the graph's inputs, NumPy's or PyTorch's, it returns what the
    graph computes, as the same kind: one result as it is, several as a list. ``steps`` describes
    what runs, ``memory`` where intermediate results lie.
    """

    def __init__(
        self, graph: Graph, layout: ExecutionPlan, kernels: Sequence[CompiledKernel | None]
    ) -> None:
        """Lay out memory and prepare the calls."""
        self.graph = graph
        self.inputs = graph.signatures
        self.outputs = tuple((name, graph.tensor(term)) for name, term in graph.outputs)
        self.steps = tuple(map(describe_step, layout.steps))
        self._kernels = tuple(kernels)
        threaded = (part for part in kernels if part and may_use_threads(part.object_code))
        self._threaded = next(threaded, None)
        self._constants = pack_arrays(layout.constants)
        self._lock = threading.Lock()
        temporaries, blocks = plan_temporaries(layout, kernels)
        self.blocks = tuple(blocks)
        self.memory: ArenaPlan = plan_arena(blocks)
        self._aligned = zeroed_buffer(max(self.memory.bytes, ALIGNMENT))
        self._base = address_of(self._aligned)
        self._patches: list[tuple[Any, int, ArrayStorage, int]] = []
        self._calls: list[Callable[[], int]] = []
        self._sequences: list[tuple[int, Callable[[], tuple[int, int]]]] = []
        self._arrays: dict[ArrayStorage, _Array] = {}
        launches: list[tuple[EntryPoint, Any]] = []
        for step, kernel, own in zip(layout.steps, kernels, temporaries, strict=True):
            if isinstance(step, KernelLaunch):
                assert kernel is not None
                entry, block = self._launch(step, kernel, own)
                launches.append((entry, block))
                self._calls.append(partial(entry, block, _NO_ADDRESS))
                continue
            self._end_sequence(launches)
            self._calls.append(self._copy(step))
            self._sequences.append((len(self._calls) - 1, partial(call_alone, self._calls[-1])))
        self._end_sequence(launches)
        self._given, self._made = layout.inputs, layout.outputs

    def _end_sequence(self, launches: list[tuple[EntryPoint, Any]]) -> None:
        """Let the last kernels be one call."""
        if launches:
            first = len(self._calls) - len(launches)
            self._sequences.append((first, CallSequence.of(launches)))
            launches.clear()

    def __repr__(self) -> str:
        """Say what it takes."""
        taken = ", ".join(f"{signature.name}: {signature.tensor}" for signature in self.inputs)
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
            for first, sequence in self._sequences:
                code, place = sequence()
                if code:
                    self._raise_for_code(first + place, code)
            self._arrays = {}
        if out is not None:
            return out
        result = [_torch_tensor(torch, array) for array in results] if torch else results
        return result[0] if len(result) == 1 else result

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
                        self._raise_for_code(number, code)
        return best

    def _arguments(self, arrays: Sequence[Any]) -> tuple[list[_Array], Any]:
        """Return arrays in C's order that fit, and PyTorch if its tensors were among them."""
        if len(arrays) != len(self.inputs):
            names = ", ".join(input_.name for input_ in self.inputs)
            raise InputError(
                f"{self.graph.name}: expected {len(self.inputs)} arguments ({names}), "
                f"found {len(arrays)}"
            )
        torch = None
        result = []
        for signature, value in zip(self.inputs, arrays, strict=True):
            array = value
            if type(array) is not np.ndarray:
                if _is_torch_tensor(value):
                    torch = _import_torch()
                    value = _torch_array(value.cpu())
                array = np.asarray(value)
            _check_array(f"{self.graph.name}: {signature.name}", array, signature.tensor)
            result.append(array if array.flags.c_contiguous else np.ascontiguousarray(array))
        return result, torch

    def _results(self, out: Any, values: Sequence[_Array]) -> list[_Array]:
        """Return memory for the results."""
        if out is None:
            return [np.empty(tensor.shape, numpy_type(tensor.dtype)) for _, tensor in self.outputs]
        given = list(out) if isinstance(out, list | tuple) else [out]
        if len(given) != len(self.outputs):
            raise InputError(
                f"{self.graph.name}: out: expected {len(self.outputs)} arrays, found {len(given)}"
            )
        arrays: list[_Array] = []
        for (name, tensor), target in zip(self.outputs, given, strict=True):
            place = f"{self.graph.name}: out: {name}"
            array = _torch_array(target) if _is_torch_tensor(target) else target
            if not isinstance(array, np.ndarray):
                raise InputError(f"{place}: expected an array, found {type(target).__name__}")
            _check_array(place, array, tensor)
            if not (array.flags.c_contiguous and array.flags.writeable):
                raise InputError(f"{place}: expected contiguous memory to write to")
            if any(np.may_share_memory(array, other) for other in (*values, *arrays)):
                raise InputError(f"{place}: expected memory that no other array shares")
            arrays.append(array)
        return arrays

    def _bind(self, values: Sequence[_Array], results: Sequence[_Array]) -> None:
        """Write where this call's arrays lie into the argument blocks."""
        self._arrays = dict(zip([*self._given, *self._made], [*values, *results], strict=True))
        addresses = {storage: address_of(array) for storage, array in self._arrays.items()}
        for block, slot, storage, offset in self._patches:
            block[slot] = addresses[storage] + offset
        if self._threaded is not None:
            self._threaded.note_threads()

    def _raise_for_code(self, number: int, code: int) -> NoReturn:
        """Say what went wrong in a step; copies never do."""
        kernel = self._kernels[number]
        assert kernel is not None
        kernel.raise_error(code)

    def _address(self, place: StorageLocation) -> int:
        """Return an address that stays, 0 for that of an argument or result."""
        match place.storage.kind:
            case StorageKind.ARENA:
                return self._base + self.memory.offsets[place.storage.number] + place.offset
            case StorageKind.CONSTANT:
                return address_of(self._constants[place.storage.number]) + place.offset
            case _:
                return 0

    def _launch(
        self, step: KernelLaunch, kernel: CompiledKernel, temporaries: Sequence[int]
    ) -> tuple[EntryPoint, Any]:
        """Return the function of a kernel and its arguments."""
        places = argument_places(step, kernel, temporaries)
        entry, block = kernel.prepared([self._address(location) for location in places])
        for slot, place in enumerate(places):
            if place.storage.kind in (StorageKind.INPUT, StorageKind.OUTPUT):
                self._patches.append((block, slot, place.storage, place.offset))
        return entry, block

    def _copy(self, step: ElementCopy) -> Callable[[], int]:
        """Return a function that moves elements."""
        source = self._window(step.view, step.reads)
        target = self._window(step.target, step.writes)

        def move() -> int:
            target()[...] = source()
            return 0

        return move

    def _window(self, view: ArrayView, place: StorageLocation) -> Callable[[], _Array]:
        """Return what gives a view of a storage: made once, but for arguments and results."""
        first, strides = view_strides(view)
        dtype = numpy_type(view.dtype)
        offset = place.offset + first * dtype.itemsize
        sizes = tuple(stride * dtype.itemsize for stride in strides)

        def window(whole: _Array) -> _Array:
            return np.ndarray(view.shape, dtype, whole, offset, sizes)

        match place.storage.kind:
            case StorageKind.ARENA:
                start = self.memory.offsets[place.storage.number]
                fixed = window(self._aligned[start : start + place.storage.bytes])
            case StorageKind.CONSTANT:
                fixed = window(self._constants[place.storage.number].reshape(-1).view(np.uint8))
            case _:
                return lambda: window(self._arrays[place.storage].reshape(-1).view(np.uint8))
        return lambda: fixed


def argument_places(
    step: KernelLaunch, kernel: CompiledKernel, temporaries: Sequence[int]
) -> list[StorageLocation]:
    """Return where the arrays of a kernel lie, in the order of its arguments.

    ``temporaries`` are the numbers of the blocks of the arena that are the kernel's own.
    """
    places: list[StorageLocation] = []
    own = iter(temporaries)
    for binding in kernel.places:
        if binding.output is not None:
            places.append(step.writes)
        elif binding.argument is not None:
            places.append(step.reads[binding.argument][0])
        else:
            places.append(StorageLocation(ArrayStorage(StorageKind.ARENA, next(own), 0), 0))
    return places


def _check_array(place: str, array: _Array, expected: TensorType) -> None:
    if array.dtype.name != expected.dtype:
        raise InputError(
            f"{place}: expected elements of type {expected.dtype}, found {array.dtype.name}"
        )
    if array.shape != expected.shape:
        raise InputError(f"{place}: expected shape {expected.shape}, found {array.shape}")


def _is_torch_tensor(value: Any) -> bool:
    """Whether a value is a tensor, known by its class's name: nothing is imported for it."""
    return any(
        base.__module__.partition(".")[0] == "torch" and base.__name__ == "Tensor"
        for base in type(value).__mro__
    )


def _import_torch() -> Any:
    import torch

    return torch


def _torch_array(tensor: Any) -> _Array:
    """Return a tensor's memory as an array; one of bfloat16 changes hands as integers."""
    plain = tensor.detach()
    if str(plain.dtype) == "torch.bfloat16":
        whole: _Array = plain.view(_import_torch().int16).numpy()
        return whole.view(numpy_type("bfloat16"))
    result: _Array = plain.numpy()
    return result


def _torch_tensor(torch: Any, array: _Array) -> Any:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def compile_model(
    model: Model,
    threads: int = 1,
    fuse: bool = True,
    progress: Callable[[int, int], None] | None = None,
    forms: KernelVariants | None = None,
) -> CompiledModel:
    """Compile a model for ``threads`` threads.

    With ``fuse`` functions of elements are computed in the kernels of what comes before them, where
    that is faster; the results are the same. ``progress`` is called with how many steps are
    compiled and how many there are. ``forms`` says which form of a kernel is the fastest, instead
    of what :func:`~polygym.graphs.execution.timing.kernel_tuning.tune_model` has kept.

    >>> from polygym.graphs.ir.build import graph_input, matmul, weight
    >>> from polygym.graphs.ir.graph import Graph
    >>> import numpy as np
    >>> graph = Graph.of("layer", matmul(graph_input("x", 1, 2), weight("w", 2, 1), "relu"))
    >>> layer = compile_model(Model(graph, {"w": np.array([[5], [-1]], np.float32)}))
    >>> layer(np.array([[2, 3]], np.float32))
    array([[7.]], dtype=float32)
    """
    layout, kernels = compile_steps(model, threads, fuse, progress, forms)
    return CompiledModel(model.graph, layout, kernels)


def compile_steps(
    model: Model,
    threads: int = 1,
    fuse: bool = True,
    progress: Callable[[int, int], None] | None = None,
    forms: KernelVariants | None = None,
) -> tuple[ExecutionPlan, list[CompiledKernel | None]]:
    """Return the steps of a model and the kernel of each, None for a copy.

    The arguments are those of :func:`compile_model`.
    """
    chosen = user_variants(threads) if forms is None else forms
    layout = plan_execution(lower_graph(model.graph, model.weights), threads, fuse, chosen)
    kernels: list[CompiledKernel | None] = []
    for step in layout.steps:
        kernels.append(compiled_kernel(step.recipe) if isinstance(step, KernelLaunch) else None)
        if progress is not None:
            progress(len(kernels), len(layout.steps))
    return layout, kernels
