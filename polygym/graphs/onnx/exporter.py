"""The ONNX graph that is being written: its nodes, its constants, the names of its values.

Write a model as an ONNX file: one that is whole, or is not there.

Weights that together take more than fits into one file stand in a file beside it, whose name says
what is in it: so the old pair stays whole until the new one is.
"""

from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from polygym.errors import InputError, printable
from polygym.files import atomic_file, write_atomically
from polygym.graphs.ir.graph import Graph, Model
from polygym.graphs.onnx.format import Array, SafeNames, onnx_module
from polygym.graphs.operators.registry import operator_named
from polygym.graphs.operators.types import TensorType
from polygym.rewrite.term import Term
from polygym.version import __version__


class OnnxEmitter:
    """Makes nodes; every value has a name of its own, those of the graph's signature first."""

    def __init__(self, graph: Graph) -> None:
        """Begin with the names of inputs and results."""
        self.graph = graph
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}
        self._names = SafeNames()
        self._claimed: set[str] = set()
        self._known: dict[Any, str] = {}
        self._of: dict[Term, tuple[str, ...]] = {}

    def reserve(self, name: str) -> str:
        """Return a name that nothing else will have."""
        while (own := self._names.unique(name)) in self._claimed:
            pass
        return own

    def reserve_exact(self, name: str) -> None:
        """Keep a name of the graph's signature, which stays as it is."""
        self._claimed.add(name)

    def name(self, node: Term, part: int = 0) -> str:
        """Return the name of a node's value."""
        return self._of[node][part]

    def set_names(self, node: Term, *names: str) -> None:
        """Say what a node's values are called."""
        self._of[node] = names

    def tensor(self, node: Term) -> TensorType:
        """Return what a node is."""
        return self.graph.tensor(node)

    def operator(
        self, kind: str, *inputs: str, results: int = 1, result_name: str = "", **attributes: Any
    ) -> str:
        """Write a node and return the name of its first result."""
        return self.operator_outputs(
            kind, *inputs, results=results, result_name=result_name, **attributes
        )[0]

    def operator_outputs(
        self, kind: str, *inputs: str, results: int = 1, result_name: str = "", **attributes: Any
    ) -> tuple[str, ...]:
        """Write a node and return the names of its results."""
        names = tuple(result_name or self.reserve(f"{kind.lower()}") for _ in range(results))
        title = f"{kind}_{len(self.nodes)}"
        node = onnx_module("helper").make_node(kind, inputs, names, title, **attributes)
        self.nodes.append(node)
        return names

    def cast(self, name: str, dtype: str) -> str:
        """Write a conversion to another element type."""
        to = onnx_module("helper").np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.operator("Cast", name, to=to)

    def constant(self, values: Any, dtype: str) -> str:
        """Return the name of a constant; equal ones are one."""
        array = np.asarray(values, dtype)
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._known:
            self._known[key] = self.weight("constant", array)
        return self._known[key]

    def weight(self, name: str, array: Array) -> str:
        """Return the name of a weight's values."""
        own = self.reserve(name)
        self.constants[own] = array
        return own


_OPSET = 20  # the first with gelu
_IR_VERSION = 9
_ALIGNMENT = 64
_ALWAYS_INLINE = 1024
"""Bytes up to which values stand in the graph, however many there are."""


def write(model: Model, path: str | Path, *, inline_bytes: int = 1 << 30) -> None:
    """Write a model; weights of more than ``inline_bytes`` together go to a file beside it.

    Raises:
        InputError: the file cannot be written, or names of results are those of inputs.
    """
    target = Path(path)
    helper = onnx_module("helper")
    emitter = _emit_model(model)
    graph = model.graph
    proto = helper.make_model(
        helper.make_graph(
            emitter.nodes,
            graph.name,
            [_signature(signature.name, signature.tensor) for signature in graph.signatures],
            [_signature(name, graph.tensor(term)) for name, term in graph.outputs],
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="polygym",
        producer_version=__version__,
    )
    try:
        beside = _store_weights(proto.graph, emitter.constants, target, inline_bytes)
        write_atomically(target, proto.SerializeToString())
    except OSError as error:
        place = printable(str(target))
        raise InputError(f"{place}: expected a file that can be written: {error}") from None
    remove_stale_weights(target, beside)


def _emit_model(model: Model) -> OnnxEmitter:
    """Return all nodes and constants of a model."""
    graph, emitter = model.graph, OnnxEmitter(model.graph)
    inputs = {
        signature.name: term for signature, term in zip(graph.signatures, graph.inputs, strict=True)
    }
    for name, node in inputs.items():
        emitter.set_names(node, name)
        emitter.reserve_exact(name)
    for name, node in graph.outputs:
        if inputs.get(name, node) is not node:
            raise InputError(f"graph {graph.name}: expected another name for the result {name}")
        emitter.reserve_exact(name)
    weights = iter(graph.weights)
    for node in graph.nodes():
        if node.head == "input":
            continue
        if node.head == "weight":
            name = next(weights).name
            emitter.set_names(node, emitter.weight(name, model.weights[name]))
        else:
            emitter.set_names(node, *_write_node(emitter, node))
    for name, node in graph.outputs:
        if emitter.name(node) != name:
            emitter.operator("Identity", emitter.name(node), result_name=name)
    return emitter


def _write_node(emitter: OnnxEmitter, node: Term) -> tuple[str, ...]:
    """Write a node, whose children are written, and return the names of its results.

    Raises:
        InputError: ONNX has no such operator for the type of its elements.
    """
    operator, data = operator_named(node.head), emitter.graph.data(node)
    if operator.onnx_needs_floating and isinstance(data, TensorType) and data.is_integer:
        raise InputError(
            f"graph {emitter.graph.name}: expected floating-point numbers for {node.head}, the "
            f"only ones that ONNX has it for, found {data}"
        )
    names = operator.write_onnx(emitter, *node.children)
    return names if isinstance(names, tuple) else (names,)


def _signature(name: str, tensor: TensorType) -> Any:
    helper = onnx_module("helper")
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(tensor.dtype))
    return helper.make_tensor_value_info(name, kind, tensor.shape)


def _store_weights(
    graph: Any, constants: dict[str, Array], target: Path, inline_bytes: int
) -> Path | None:
    """Put values into the graph, or into a file beside it, whose path is returned.

    Small ones are always in the graph: axes and shapes, which readers look at, are among them.
    """
    arrays = onnx_module("numpy_helper")
    total = sum(constant.nbytes for constant in constants.values())
    most = inline_bytes if total <= inline_bytes else min(inline_bytes, _ALWAYS_INLINE)
    large = {name: constant for name, constant in constants.items() if constant.nbytes > most}
    graph.initializer.extend(
        arrays.from_array(constant, name)
        for name, constant in constants.items()
        if name not in large
    )
    if not large:
        return None
    digest = blake2b(digest_size=8)
    for array in large.values():
        digest.update(_bytes(array))
    path = target.with_name(f"{target.name}.{digest.hexdigest()}.data")
    external = onnx_module().TensorProto.EXTERNAL
    helper = onnx_module("helper")
    with atomic_file(path) as beside, beside.open("wb") as file:
        for name, array in large.items():
            file.write(bytes(-file.tell() % _ALIGNMENT))
            tensor = graph.initializer.add(name=name, dims=array.shape, data_location=external)
            tensor.data_type = helper.np_dtype_to_tensor_dtype(array.dtype)
            places = {"location": path.name, "offset": file.tell(), "length": array.nbytes}
            for key, value in places.items():
                tensor.external_data.add(key=key, value=str(value))
            file.write(_bytes(array))
    return path


def _bytes(array: Array) -> memoryview | bytes:
    """Return the elements as they stand in a file, from the lowest byte on."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return little.reshape(-1).view(np.uint8).data


def remove_stale_weights(target: Path, beside: Path | None) -> None:
    """Remove the weights of models that had the name before."""
    for other in target.parent.glob("*.data"):
        digits = other.name[len(target.name) + 1 : -len(".data")]
        is_ours = other.name == f"{target.name}.{digits}.data" and len(digits) == 16
        if is_ours and other != beside and set(digits) <= set("0123456789abcdef"):
            with suppress(OSError):
                other.unlink()
