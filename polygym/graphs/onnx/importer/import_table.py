"""The table of ONNX operators that are read, and what is said of the others."""

from __future__ import annotations

import numpy as np

from polygym.errors import printable
from polygym.graphs.onnx.importer.constant_folding import is_foldable
from polygym.graphs.onnx.nodes.import_row import OnnxImport
from polygym.graphs.onnx.nodes.onnx_node import OnnxNode
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
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Term

__all__ = ["IMPORTS", "import_node", "unsupported_message"]

_TABLES = (
    elementwise.ROWS,
    matrix_products.ROWS,
    convolution_pooling.ROWS,
    normalization.ROWS,
    data_movement.ROWS,
    attention.ROWS,
    transposed_convolution.ROWS,
    resize.ROWS,
    recurrent.ROWS,
    comparisons.ROWS,
    integer_valued.ROWS,
    gather_scatter.ROWS,
)

IMPORTS: dict[str, OnnxImport] = {row.name: row for table in _TABLES for row in table}
"""The operators by their names in ONNX."""

_ALTERNATIVES = {
    "control flow: export the model by tracing, for one shape": "If Loop Scan",
    "a quantised operator: export the model before quantisation": (
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
    """Return what is said of an operator that is not there, and what to do about it."""
    known = "known where all that it takes is a constant, and here it is not"
    other = known if is_foldable(operator) else "write it by others before exporting"
    hint = _ALTERNATIVE_OF.get(operator, other)
    return (
        f"the operator {printable(operator)} is not supported ({hint}); "
        f"supported are {', '.join(sorted(IMPORTS))}"
    )


def import_node(node: OnnxNode) -> tuple[Term, ...]:
    """Return the terms of a node's results.

    Raises:
        InputError: it is not supported, or makes no sense.
    """
    row = IMPORTS.get(node.operator)
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
