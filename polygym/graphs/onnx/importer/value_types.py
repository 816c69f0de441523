"""Types of values, as ONNX has them, and the types that they are computed in.

Graphs compute in four types (:data:`~polygym.graphs.operators.types.DTYPES`). Half precision is
computed in ``float32`` and rounded after each operator; truth is 1 or 0 in ``float32``; narrow
integers are computed in wider ones, and wrap after each operator. The type that ONNX gives a value
follows from its operator's schema and the types of its operands. Inputs and results of a model
have their own types: ``cast`` nodes stand at the borders.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from polygym.graphs.onnx.format import dtype_of, onnx_module
from polygym.graphs.onnx.nodes import OnnxGraphBuilder, computing_type
from polygym.graphs.operators.types import HALF_TYPES
from polygym.rewrite.term import Term

_TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "output_datatype")

_EXACT = frozenset(
    """
    Abs ArgMax ArgMin CastLike Ceil CenterCropPad Clip Compress Concat DepthToSpace Dropout Expand
    Flatten Floor Gather GatherElements GatherND Identity If Max MaxPool Min Neg OneHot Pad
    ReduceMax ReduceMin Relu Reshape ReverseSequence Round ScatterElements ScatterND Shape Sign
    Size Slice SpaceToDepth Split Squeeze Tile TopK Transpose Trilu Unsqueeze Where
    """.split()
)
"""Operators whose results need no rounding: they choose elements, or change signs."""

_WRAPPING = frozenset(
    """
    Abs Add BitShift BitwiseNot Cast CastLike CumProd CumSum Div Einsum Gemm MatMul Mul Neg Pow
    ReduceL1 ReduceProd ReduceSum ReduceSumSquare ScatterElements ScatterND Sub Sum
    """.split()
)
"""Operators whose results may be no number of a narrow type."""

_UNSIGNED_64 = frozenset(
    """
    Add BitwiseNot Concat Equal Expand Flatten Gather GatherElements GatherND Greater
    GreaterOrEqual Identity Less LessOrEqual Mul Reshape ScatterElements ScatterND Slice Split
    Squeeze Sub Tile Transpose Trilu Unsqueeze Where
    """.split()
)
"""Operators that are the same for signed and unsigned integers of 64 bits."""


@cache
def _signature(
    operator: str, opset: int
) -> tuple[tuple[str, ...], tuple[str, ...], bool, dict[str, str]]:
    """Return types of inputs and results as the schema names them, whether inputs repeat.

    Last come the type parameters that allow one type alone.
    """
    schema = onnx_module("defs").get_schema(operator, opset, "")
    inputs = tuple(formal.type_str for formal in schema.inputs)
    outputs = tuple(formal.type_str for formal in schema.outputs)
    variadic = onnx_module("defs").OpSchema.FormalParameterOption.Variadic
    repeats = bool(schema.inputs) and schema.inputs[-1].option == variadic
    allowed = {one.type_param_str: one.allowed_type_strs for one in schema.type_constraints}
    single = {name: texts[0] for name, texts in allowed.items() if len(texts) == 1}
    return inputs, outputs, repeats, single


def result_types(
    operator: str, opset: int, given: Sequence[str], attributes: Mapping[str, Any], count: int
) -> tuple[str, ...]:
    """Return the types of the results of a node; ``given`` are those of its operands.

    >>> result_types("Less", 13, ["float16", "float16"], {}, 1)
    ('bool',)
    >>> result_types("Cast", 13, ["bool"], {"to": 10}, 1)
    ('float16',)
    """
    inputs, outputs, repeats, single = _signature(operator, opset)
    bound = {name: _plain(text) for name, text in single.items()}
    for place, dtype in enumerate(given):
        if dtype and inputs and (place < len(inputs) or repeats):
            bound.setdefault(inputs[min(place, len(inputs) - 1)], dtype)
    said = next((attributes[name] for name in _TYPE_ATTRIBUTES if attributes.get(name)), None)
    usual = _unbound_type(operator, given, attributes)
    results = []
    for place in range(count):
        text = outputs[min(place, len(outputs) - 1)] if outputs else ""
        if text.startswith("tensor("):
            results.append(_plain(text))
        elif said is not None and place == 0:
            results.append(dtype_of(said))
        else:
            results.append(bound.get(text, usual))
    return tuple(results)


def _unbound_type(operator: str, given: Sequence[str], attributes: Mapping[str, Any]) -> str:
    """Return the type of a result that no operand and no attribute tells."""
    match operator:
        case "QuantizeLinear":
            return "uint8"
        case "DequantizeLinear":
            return given[1]
        case "LayerNormalization":  # its statistics
            return dtype_of(attributes.get("stash_type", 1))
    return next((dtype for dtype in given if dtype), "float32")


def _plain(text: str) -> str:
    """Return the element type of ``tensor(float)``."""
    name = text.removeprefix("tensor(").removesuffix(")")
    return {"float": "float32", "double": "float64"}.get(name, name)


def unsupported_type(operator: str, dtypes: Sequence[str]) -> str:
    """Return a type among some that an operator cannot be computed for, or nothing."""
    for dtype in dtypes:
        is_read = computing_type(dtype) and (dtype != "uint64" or operator in _UNSIGNED_64)
        if dtype and not is_read:
            return dtype
    return ""


def settle(builder: OnnxGraphBuilder, operator: str, made: Term, dtype: str) -> Term:
    """Return a result with the values of its type: rounded, wrapped, in the computing type."""
    computing = computing_type(dtype)
    if dtype in HALF_TYPES and operator not in _EXACT and not _is_rounded(made, dtype):
        made = builder.make("round-to", dtype, made)
    if builder.tensor(made).dtype != computing:
        made = builder.make("cast", computing, made)
    if dtype != "bool" and dtype not in HALF_TYPES and dtype != computing and operator in _WRAPPING:
        made = builder.make("cast", computing, builder.make("cast", dtype, made))
    return made


def _is_rounded(made: Term, dtype: str) -> bool:
    return made.head == "round-to" and made.children[0].head == dtype


def computed(builder: OnnxGraphBuilder, term: Term) -> Term:
    """Return an input in the type that it is computed in."""
    dtype = builder.tensor(term).dtype
    computing = computing_type(dtype)
    return term if computing == dtype else builder.make("cast", computing, term)


def returned(builder: OnnxGraphBuilder, term: Term, dtype: str) -> Term:
    """Return a result of the model in its own type."""
    return term if builder.tensor(term).dtype == dtype else builder.make("cast", dtype, term)
