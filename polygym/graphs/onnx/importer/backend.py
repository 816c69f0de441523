"""ONNX's backend interface: ``prepare`` a model, ``run`` it with arrays.

    >>> import numpy as np
    >>> import onnx
    >>> node = onnx.helper.make_node("Relu", ["x"], ["y"])
    >>> value = lambda name: onnx.helper.make_tensor_value_info(name, 1, ["n"])
    >>> graph = onnx.helper.make_graph([node], "small", [value("x")], [value("y")])
    >>> opsets = [onnx.helper.make_opsetid("", 18)]
    >>> prepared = prepare(onnx.helper.make_model(graph, opset_imports=opsets))
    >>> prepared.run([np.array([-1, 2], np.float32)])
    [array([0., 2.], dtype=float32)]

Shapes that the file leaves open, and inputs that must be known while it is read (shapes, axes),
come from the arguments: for each of them the model is compiled once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.files import temporary_folder
from polygym.graphs.execution import CompiledModel, compile_model
from polygym.graphs.ir.graph import Model
from polygym.graphs.onnx.format import Array, onnx_module
from polygym.graphs.onnx.importer.reader import read
from polygym.graphs.onnx.nodes import UnknownValueError


@dataclass(frozen=True, slots=True, eq=False)
class Specialization:
    """A model that is compiled for shapes, and for the values of some inputs."""

    shapes: tuple[tuple[int, ...], ...]
    fixed: Mapping[str, Array]
    compiled: CompiledModel

    def fits(self, arrays: Mapping[str, Array]) -> bool:
        """Whether it computes the results of arguments."""
        return self.shapes == tuple(array.shape for array in arrays.values()) and all(
            np.array_equal(array, arrays[name]) for name, array in self.fixed.items()
        )


class PreparedModel:
    """A model that is compiled for the shapes of its arguments; each time once."""

    def __init__(self, contents: bytes, names: Sequence[str], threads: int) -> None:
        """Keep the file, and the names of its inputs."""
        self._contents, self._names, self._threads = contents, tuple(names), threads
        self.specializations: list[Specialization] = []

    def run(self, inputs: Sequence[Any], **_: Any) -> list[Array]:
        """Return the results for arrays in the order of the inputs.

        Raises:
            InputError: the model, or an argument, is refused.
        """
        if len(inputs) != len(self._names):
            raise InputError(f"expected {len(self._names)} arguments, found {len(inputs)}")
        for name, value in zip(self._names, inputs, strict=True):
            if isinstance(value, list | tuple) or value is None:
                raise InputError(f"input {name}: expected an array, found {type(value).__name__}")
        arrays = dict(zip(self._names, map(np.asarray, inputs), strict=True))
        used = next((entry for entry in self.specializations if entry.fits(arrays)), None)
        if used is None:
            used = self._specialized(arrays)
            self.specializations.append(used)
        result = used.compiled(*(arrays[name] for name in arrays if name not in used.fixed))
        return list(result) if isinstance(result, list) else [result]

    def _specialized(self, arrays: Mapping[str, Array]) -> Specialization:
        with temporary_folder() as folder:
            path = folder / "model.onnx"
            path.write_bytes(self._contents)
            model, fixed = read_for_arguments(path, arrays)
        shapes = tuple(array.shape for array in arrays.values())
        return Specialization(shapes, fixed, compile_model(model, threads=self._threads))


def read_for_arguments(path: Path, arrays: Mapping[str, Array]) -> tuple[Model, dict[str, Array]]:
    """Return the model for arguments by name, and those of them that had to be known."""
    fixed = {name: array for name, array in arrays.items() if not array.size}
    while True:
        shapes = {name: array.shape for name, array in arrays.items() if name not in fixed}
        try:
            return read(path, shapes, fixed), fixed
        except UnknownValueError as error:
            asked = [name for name in error.inputs if name not in fixed]
            if not asked or any(arrays[name].ndim > 1 for name in asked):
                raise
            fixed |= {name: arrays[name] for name in asked}


def prepare(model: Any, device: str = "CPU", threads: int = 1, **_: Any) -> PreparedModel:
    """Return a model, ``onnx.ModelProto`` or its bytes, ready to run.

    Raises:
        InputError: the device is none of this machine's.
    """
    if not supports_device(device):
        raise InputError(f"expected the device CPU, found {device!r}")
    proto = model
    if isinstance(model, bytes):
        proto = onnx_module().ModelProto.FromString(model)
    weights = {weight.name for weight in proto.graph.initializer}
    names = [input_.name for input_ in proto.graph.input if input_.name not in weights]
    return PreparedModel(proto.SerializeToString(), names, threads)


def run_model(
    model: Any, inputs: Sequence[Any], device: str = "CPU", **options: Any
) -> list[Array]:
    """Return the results of a model for arrays."""
    return prepare(model, device, **options).run(inputs)


def supports_device(device: str) -> bool:
    """Whether models run on a device."""
    return device == "CPU"
