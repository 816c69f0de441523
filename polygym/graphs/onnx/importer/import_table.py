"""Table of the ONNX operators that are read, and messages about the others."""

from functools import cache

import numpy as np

from polygym.errors import printable
from polygym.graphs.onnx.importer.constant_folding import is_foldable
from polygym.graphs.onnx.nodes.onnx_node import OnnxImport, OnnxNode
from polygym.graphs.onnx.operators import (
    attention,
    comparisons,
    convolution_pooling,
    data_movement,
    elementwise,
    gather_scatter,
    integer_valued,
    matrix_products,
    normalization,
    recurrent,
    resize,
    transposed_convolution,
)
from polygym.graphs.operators.registry import clear_with_registry
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Term

_MODULES = (
    elementwise,
    matrix_products,
    convolution_pooling,
    normalization,
    data_movement,
    attention,
    transposed_convolution,
    resize,
    recurrent,
    comparisons,
    integer_valued,
    gather_scatter,
)


@cache
def import_rows() -> dict[str, OnnxImport]:
    """Return the operators that are read, by their names in ONNX."""
    rows = [row for module in _MODULES for row in module.ROWS]
    return {row.name: row for row in (*elementwise.direct_imports(), *rows)}


clear_with_registry(import_rows.cache_clear)

_ALTERNATIVES = {
    "control flow: export the model by tracing, for one shape": "If Loop Scan",
    "a quantized operator: export the model before quantization": (
        "QuantizeLinear DequantizeLinear DynamicQuantizeLinear QLinearConv QLinearMatMul "
        "ConvInteger MatMulInteger"
    ),
    "places that are computed: leave it outside of the model": "GridSample RoiAlign",
    "a choice of places: leave it outside of the model": "TopK",
    "random numbers: export the model after model.eval()": (
        "RandomNormal RandomNormalLike RandomUniform RandomUniformLike Bernoulli Multinomial"
    ),
    "a result whose shape depends on values: leave it outside of the model": (
        "NonZero NonMaxSuppression Unique Compress"
    ),
}
_ALTERNATIVE_OF = {name: hint for hint, names in _ALTERNATIVES.items() for name in names.split()}


def unsupported_message(operator: str) -> str:
    """Return the message about an operator that is not read, and what to do about it."""
    known = "known where all that it takes is a constant, and here it is not"
    other = known if is_foldable(operator) else "write it by others before exporting"
    hint = _ALTERNATIVE_OF.get(operator, other)
    return (
        f"the operator {printable(operator)} is not supported ({hint}); "
        f"supported are {', '.join(sorted(import_rows()))}"
    )


def import_node(node: OnnxNode) -> tuple[Term, ...]:
    """Return the terms of a node's results.

    Raises:
        InputError: it is not supported, or invalid.
    """
    row = import_rows().get(node.operator)
    if row is None:
        node.reject(unsupported_message(node.operator))
    unknown = set(node.attributes) - set(row.attributes.split())
    if unknown:
        node.reject(
            f"expected no attributes but {row.attributes or 'none'}, "
            f"found {', '.join(sorted(unknown))}"
        )
    try:
        with np.errstate(all="ignore"):  # weights may hold what no arithmetic likes
            made = row.translate(node)
    except Inadmissible as error:
        node.reject(str(error))
    except (MemoryError, OverflowError) as error:
        node.reject(f"expected numbers that fit into memory, found larger ones: {error}")
    return made if isinstance(made, tuple) else (made,)
