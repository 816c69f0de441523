"""The table of ONNX operators that are read, and what is said of the others."""

from __future__ import annotations

import numpy as np

from polygym.errors import printable
from polygym.graphs.onnx import (
    attention,
    choosing,
    counting,
    deconvolving,
    elementwise,
    images,
    normalising,
    products,
    recurrent,
    resizing,
    shaping,
    truths,
)
from polygym.graphs.onnx.folding import is_folded
from polygym.graphs.onnx.nodes import Node
from polygym.graphs.onnx.rows import Row
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Term

__all__ = ["ROWS", "translated", "unsupported"]

_TABLES = (
    elementwise.ROWS,
    products.ROWS,
    images.ROWS,
    normalising.ROWS,
    shaping.ROWS,
    attention.ROWS,
    deconvolving.ROWS,
    resizing.ROWS,
    recurrent.ROWS,
    truths.ROWS,
    counting.ROWS,
    choosing.ROWS,
)

ROWS: dict[str, Row] = {row.name: row for table in _TABLES for row in table}
"""The operators by their names in ONNX."""

_HINTS = {
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
_HINT_OF = {name: hint for hint, names in _HINTS.items() for name in names.split()}


def unsupported(operator: str) -> str:
    """Return what is said of an operator that is not there, and what to do about it."""
    known = "known where all that it takes is a constant, and here it is not"
    other = known if is_folded(operator) else "write it by others before exporting"
    hint = _HINT_OF.get(operator, other)
    return (
        f"the operator {printable(operator)} is not supported ({hint}); "
        f"supported are {', '.join(sorted(ROWS))}"
    )


def translated(node: Node) -> tuple[Term, ...]:
    """Return the terms of a node's results.

    Raises:
        InputError: it is not supported, or makes no sense.
    """
    row = ROWS.get(node.operator)
    if row is None:
        node.refuse(unsupported(node.operator))
    unknown = set(node.attributes) - set(row.attributes.split())
    if unknown:
        node.refuse(
            f"expected no attributes but {row.attributes or 'none'}, "
            f"found {', '.join(sorted(unknown))}"
        )
    try:
        with np.errstate(all="ignore"):  # weights may hold what no arithmetic likes
            made = row.translate(node)
    except Inadmissible as error:
        node.refuse(str(error))
    except (MemoryError, OverflowError) as error:
        node.refuse(f"expected numbers that fit into memory, found larger ones: {error}")
    return made if isinstance(made, tuple) else (made,)
