"""Calls with PyTorch's tensors on a GPU, whose kernels are put into PyTorch's stream.

Results and temporaries are tensors of PyTorch's, on the device of the arguments. Arguments that are
dense and aligned are read in place; others, those that are updated, and results for ``out`` are
copied on the device. A call waits for its kernels if the definition has computed subscripts, to say
whether one was out of range, or if code of earlier calls has to be unloaded. There are no
derivatives and no traces here yet.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition
from polygym.gpu.device_program import ALIGNMENT, DeviceProgram
from polygym.gpu.ptx.compile_ptx import DeviceCode
from polygym.ir.scop import Scop
from polygym.runtime.device.device import Device
from polygym.runtime.device.loaded_program import LoadedProgram
from polygym.tc.arguments import (
    ExpectedArgument,
    check_argument_count,
    expected_arguments,
    listed_outputs,
    sizes_of_arguments,
)
from polygym.tc.kernel import ArrayBinding
from polygym.tc.torch_operators import is_traced
from polygym.tc.torch_tensors import is_transformed

_MOST_PROGRAMS = 256


@dataclass(frozen=True, slots=True)
class GpuKernel:
    """The kernels of a definition for sizes; ``bindings`` are in the order of its arrays."""

    scop: Scop
    program: DeviceProgram
    code: DeviceCode
    bindings: tuple[ArrayBinding, ...]
    sizes: tuple[tuple[str, int], ...]


class Builder(Protocol):
    """The maker of the kernels of a definition (:mod:`polygym.tc.builder`)."""

    definition: TcDefinition
    required_constants: tuple[str, ...]

    def gpu_kernel(self, sizes: Mapping[str, int], target: str) -> GpuKernel:
        """Return the kernels for sizes, for GPUs of an architecture."""
        ...


class GpuCalls:
    """Calls of one definition on GPUs, which remember its kernels."""

    def __init__(
        self,
        builder: Builder,
        on_cpu: Callable[[Sequence[Any], None], list[np.ndarray]],
    ) -> None:
        """Keep what makes kernels, and what computes on the CPU."""
        self._builder, self._on_cpu = builder, on_cpu
        self._expected = expected_arguments(builder.definition)
        self._kernels: dict[Any, GpuKernel] = {}
        self._lock = threading.Lock()

    def call(self, torch: Any, arguments: Sequence[Any], out: Any) -> list[Any]:
        """Return the outputs as tensors, those of ``out`` where it is given.

        Raises:
            InputError: an argument does not fit, lies on another device, or asks for a gradient; or
                something traces or transforms the call.
            MissingDeviceError: there is no driver.
        """
        name = self._builder.definition.name
        _require_plain_call(torch, name)
        check_argument_count(name, [own.name for own in self._expected], arguments)
        place = next(
            own.device for own in arguments if isinstance(own, torch.Tensor) and own.is_cuda
        )
        tensors = [
            _tensor(torch, f"{name}: {expected.name}", expected, value, place)
            for expected, value in zip(self._expected, arguments, strict=True)
        ]
        if any(0 in tensor.shape for tensor in tensors):  # no code computes it
            found = self._on_cpu([tensor.cpu().numpy() for tensor in tensors], None)
            results = [torch.from_numpy(array).to(place) for array in found]
        else:
            with torch.cuda.device(place):  # afterwards the thread has the device that it had
                results = self._computed(torch, tensors, place)
        return results if out is None else _copied(name, results, out)

    def _computed(self, torch: Any, tensors: Sequence[Any], place: Any) -> list[Any]:
        """Return the outputs for tensors on a device, asked of its stream."""
        device = _device(place.index or 0, torch.cuda.current_stream(place).cuda_stream)
        kernel = self._kernel(tensors, device.properties.architecture)
        results, kept = _memory(torch, kernel, tensors, place)
        addresses = {name: tensor.data_ptr() for name, tensor in kept.items()}
        # Nobody else unloads the code or takes the memory before everything is in the stream; the
        # tensors are kept so long too.
        with (
            _lock,
            _loaded(kernel, device).bound(addresses, dict(kernel.sizes), repeats=False) as bound,
        ):
            bound.run()
            if bound.checks_subscripts:
                bound.wait()
        return results

    def _kernel(self, tensors: Sequence[Any], target: str) -> GpuKernel:
        """Return the kernels for arguments, made at the first call with their shapes."""
        names = [expected.name for expected in self._expected]
        shapes = {name: tuple(tensor.shape) for name, tensor in zip(names, tensors, strict=True)}
        constants = {
            name: int(tensors[names.index(name)]) for name in self._builder.required_constants
        }
        key = (target, tuple(shapes.values()), tuple(constants.values()))
        with self._lock:
            if key not in self._kernels:
                sizes = sizes_of_arguments(self._builder.definition, shapes) | constants
                while len(self._kernels) >= _MOST_PROGRAMS:
                    del self._kernels[next(iter(self._kernels))]
                self._kernels[key] = self._builder.gpu_kernel(sizes, target)
            return self._kernels[key]


def _require_plain_call(torch: Any, name: str) -> None:
    """Refuse calls whose results would be traced, or carry derivatives."""
    if is_traced(torch):
        raise InputError(
            f"{name}: traces on a GPU are not supported: expected a call outside of torch.compile, "
            "torch.export and torch.jit.trace"
        )
    if is_transformed(torch):
        raise InputError(
            f"{name}: no derivatives on a GPU: expected a call outside of torch.func and of "
            "derivatives in forward mode"
        )


def _copied(name: str, results: Sequence[Any], out: Any) -> list[Any]:
    """Copy results to where the caller wants them."""
    given = listed_outputs(out)
    if len(given) != len(results):
        raise InputError(f"{name}: out: expected {len(results)} tensors, found {len(given)}")
    for target, result in zip(given, results, strict=True):
        if tuple(target.shape) != tuple(result.shape) or target.dtype != result.dtype:
            raise InputError(
                f"{name}: out: expected a tensor of {result.dtype} and shape "
                f"{list(result.shape)}, found {target.dtype} and {list(target.shape)}"
            )
        target.copy_(result)
    return given


def _tensor(torch: Any, where: str, expected: ExpectedArgument, value: Any, place: Any) -> Any:
    """Return an argument as a tensor of the declared type, without gaps, on a device."""
    kind = getattr(torch, expected.dtype.name)
    if not isinstance(value, torch.Tensor):
        value = torch.as_tensor(value, dtype=kind, device=place)
    if value.device != place and not expected.rank:
        value = value.to(place)
    if value.device != place:
        raise InputError(f"{where}: expected a tensor on {place}, found one on {value.device}")
    if value.requires_grad and torch.is_grad_enabled():
        raise InputError(
            f"{where}: no derivatives on a GPU: expected a call under torch.no_grad(), or a "
            "tensor that asks for no gradient"
        )
    if value.dtype != kind:
        raise InputError(f"{where}: expected elements of type {kind}, found {value.dtype}")
    if value.dim() != expected.rank:
        raise InputError(f"{where}: expected {expected.rank} dimension(s), found {value.dim()}")
    value = value.detach().contiguous()
    return value if value.data_ptr() % ALIGNMENT == 0 else value.clone()


def _memory(
    torch: Any, kernel: GpuKernel, tensors: Sequence[Any], place: Any
) -> tuple[list[Any], dict[str, Any]]:
    """Return the results, to be computed, and the tensor of each array by its name."""
    results: dict[int, Any] = {}
    kept = {}
    for array, own in zip(kernel.scop.arrays, kernel.bindings, strict=True):
        if own.output is None and own.argument is not None:
            tensor = tensors[own.argument]
        elif own.is_updated and own.argument is not None:
            tensor = tensors[own.argument].clone()
        else:
            make = torch.zeros if own.is_partial else torch.empty
            tensor = make(own.shape, dtype=getattr(torch, own.dtype.name), device=place)
        if own.output is not None:
            results[own.output] = tensor
        kept[array.name] = tensor
    return [results[place] for place in sorted(results)], kept


_lock = threading.RLock()
_devices: dict[tuple[int, int], Device] = {}
_programs: dict[tuple[int, int], tuple[GpuKernel, LoadedProgram]] = {}


def _device(ordinal: int, stream: int) -> Device:
    """Return a device with a stream, current for this thread."""
    with _lock:
        if (ordinal, stream) not in _devices:
            _devices[ordinal, stream] = Device(ordinal, stream)
        device = _devices[ordinal, stream]
    device.make_current()
    return device


def _loaded(kernel: GpuKernel, device: Device) -> LoadedProgram:
    """Return kernels on a device, under the lock; those of the last calls stay there."""
    key = (id(kernel), id(device))  # the kernel is kept beside, so that its number is its own
    if key not in _programs:
        while len(_programs) >= _MOST_PROGRAMS:
            _unload(_programs.pop(next(iter(_programs)))[1], device)
        _programs[key] = (kernel, LoadedProgram(kernel.program, kernel.code, device))
    return _programs[key][1]


def _unload(program: LoadedProgram, current: Device) -> None:
    """Unload kernels, which may be running still, and use the current device again."""
    program.device.make_current()
    try:
        program.device.wait()
        program.close()
    finally:
        current.make_current()
