"""Constant folding of ONNX files: constants, shapes, and arithmetic with them.

Exported models compute shapes: ``Shape``, ``Gather``, ``Concat``, then ``Reshape``. All shapes are
known here, so such chains come down to arrays. ONNX's own reference (NumPy) computes them; what it
may compute is a closed list, of operators whose results are as large as what they take, or are
looked at first.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.graphs.onnx.format import Array, array_of, onnx_module
from polygym.graphs.onnx.nodes import MAX_ELEMENTS, UNFITTING, OnnxNode, computing_type, one_line
from polygym.graphs.operators.types import numpy_type
from polygym.rewrite.term import Term

_FOLDABLE = frozenset(
    """
    Abs Add And ArgMax ArgMin BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow
    Cast CastLike Ceil Clip Compress Concat ConstantOfShape Cos CumSum DequantizeLinear Div Einsum
    Equal Erf Exp Expand Flatten Floor Gather GatherElements GatherND Greater GreaterOrEqual
    HammingWindow HannWindow Identity Less LessOrEqual Log MatMul Max Mean MelWeightMatrix Min Mod
    Mul Neg NonZero Not OneHot Or Pow QuantizeLinear Range Reciprocal ReduceL1 ReduceL2 ReduceMax
    ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Round ScatterElements
    ScatterND Sigmoid Sign Sin Slice Softmax Split Sqrt Squeeze Sub Sum Tan Tanh Tile TopK
    Transpose Trilu Unique Unsqueeze Where Xor
    """.split()
)

_BROADCAST = frozenset(
    """
    Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul Or Pow Sub Sum
    Where Xor
    """.split()
)


def foldable_operators() -> frozenset[str]:
    """Return the operators that are computed where all that they take is known."""
    return _FOLDABLE | {"Constant", "Shape", "Size", "EyeLike"}


def is_foldable(operator: str) -> bool:
    """Whether an operator is computed where all that it takes is known."""
    return operator in foldable_operators()


def fold_constants(node: OnnxNode, proto: Any, folder: Path) -> tuple[Array, ...] | None:
    """Return the results of a node if they are known from constants and shapes alone."""
    match node.operator:
        case "Constant":
            return (_constant_value(node, folder),)
        case "Shape":
            shape = node.shape(0)
            part = slice(node.attribute("start"), node.attribute("end"))
            return (np.array(shape[part], np.int64),)
        case "Size":
            return (np.array(np.prod(node.shape(0), dtype=np.int64), np.int64),)
        case "EyeLike" if len(shape := node.shape(0)) == 2 and computing_type(node.result_types[0]):
            _reject_large(node, shape)
            ones = np.eye(shape[0], shape[1], node.attribute("k", 0))
            return (ones.astype(numpy_type(node.result_types[0])),)
        case "CastLike" if node.has(0) and isinstance(known := node.values[0], np.ndarray):
            if computing_type(node.result_types[0]):
                with np.errstate(all="ignore"):
                    return (known.astype(numpy_type(node.result_types[0])),)
    if node.operator not in _FOLDABLE or any(isinstance(value, Term) for value in node.values):
        return None
    try:
        _check_size(node)
    except UNFITTING as error:
        node.reject(f"expected attributes and inputs that fit together: {one_line(error)}")
    if node.operator == "GatherElements":
        return (_gathered_elements(node),)
    return _evaluate(node, proto)


def _gathered_elements(node: OnnxNode) -> Array:
    """Return chosen elements; the reference chooses among 32 at most where a row has one index."""
    data, indices = node.array(0, "the data"), node.array(1, "the indices")
    axis = int(node.attribute("axis", 0))
    if data.ndim != indices.ndim or not -data.ndim <= axis < data.ndim:
        node.reject(
            f"expected indices of rank {data.ndim} and an axis of the data, found rank "
            f"{indices.ndim} and axis {axis}"
        )
    axis %= data.ndim
    part = [slice(extent) for extent in indices.shape]
    part[axis] = slice(None)
    try:
        result: Array = np.take_along_axis(data[tuple(part)], indices, axis)
    except (IndexError, ValueError) as error:
        node.reject(f"its constants cannot be computed: {type(error).__name__}: {error}")
    return result


def _constant_value(node: OnnxNode, folder: Path) -> Array:
    if len(node.attributes) == 1:
        ((name, value),) = node.attributes.items()
        match name:
            case "value":
                return array_of(value, folder, node.title)
            case "value_float" | "value_floats":
                return np.array(value, np.float32)
            case "value_int" | "value_ints":
                return np.array(value, np.int64)
    node.reject(f"expected one tensor or number, found {', '.join(node.attributes) or 'nothing'}")


def _check_size(node: OnnxNode) -> None:
    """Refuse what a few numbers would make huge."""
    match node.operator:
        case "ConstantOfShape":
            _reject_large(node, node.integers(0, "the shape"))
        case "Expand":
            shape = node.integers(1, "the shape")
            _reject_large(node, node.broadcast(node.shape(0), shape))
        case "Tile":
            repeats = node.integers(1, "repeats")
            _reject_large(node, (*node.shape(0), *repeats))
        case "Range":
            start, limit, step = (
                float(node.array(place, "a bound").reshape(())) for place in range(3)
            )
            if not step or not np.isfinite((limit - start) / step):
                node.reject(f"expected a range with an end, found {start} to {limit} by {step}")
            _reject_large(node, (max(int((limit - start) / step) + 1, 0),))
        case "BlackmanWindow" | "HammingWindow" | "HannWindow":
            _reject_large(node, node.integers(0, "the size"))
        case "MelWeightMatrix":
            bins, length = node.integers(0, "bins"), node.integers(1, "the length")
            _reject_large(node, (*bins, *length))
        case "OneHot":
            depth = node.array(1, "the depth").reshape(-1)
            _reject_large(node, (*node.shape(0), *map(int, depth)))
        case "Einsum":
            _reject_large(
                node,
                tuple(extent for place in range(len(node.values)) for extent in node.shape(place)),
            )
        case "MatMul":
            _reject_large(node, (*node.shape(0)[:-1], *node.shape(1)[:-2], *node.shape(1)[-1:]))
        case "Gather" | "GatherND":
            # Each index may choose all of the table but one row.
            _reject_large(node, (*node.shape(0)[1:], *node.shape(1)))
        case name if name in _BROADCAST:
            given = [node.shape(place) for place in range(len(node.values)) if node.has(place)]
            _reject_large(node, node.broadcast(*given))


def _reject_large(node: OnnxNode, shape: tuple[int, ...]) -> None:
    count = np.prod(shape, dtype=object) if shape else 1
    if count > MAX_ELEMENTS or min(shape, default=0) < 0:
        node.reject(f"expected at most {MAX_ELEMENTS} elements, found the shape {list(shape)}")


def _evaluate(node: OnnxNode, proto: Any) -> tuple[Array, ...]:
    evaluator = onnx_module("reference").ReferenceEvaluator
    helper = onnx_module("helper")
    given = {name: value for name, value in zip(node.names, node.values, strict=True) if name}
    if node.operator == "CumSum" and isinstance(axis := node.values[1], np.ndarray):
        # Exporters write the axis as a list of one, which the reference takes for an error.
        given[node.names[1]] = axis.reshape(()) if axis.size == 1 else axis
    outputs = [name for name in proto.output if name]
    graph = helper.make_graph(
        [proto],
        "constants",
        [helper.make_tensor_value_info(name, 0, None) for name in given],
        [helper.make_tensor_value_info(name, 0, None) for name in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", node.opset)])
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            results = evaluator(model).run(None, given)
    except InputError:
        raise
    except Exception as error:  # the reference raises whatever NumPy does
        node.reject(f"its constants cannot be computed: {type(error).__name__}: {one_line(error)}")
    named = dict(zip(outputs, map(np.asarray, results), strict=True))
    return tuple(named.get(name, np.zeros(0)) for name in node.outputs)
