"""Attention as one operator (opset 23), taken apart: softmax(scale q kᵀ + mask) v."""

import numpy as np

from polygym.graphs.ir.build import shape_literal
from polygym.graphs.onnx.nodes.onnx_node import OnnxImport, OnnxNode, shortest_float
from polygym.graphs.onnx.operators.elementwise import expand_to
from polygym.graphs.onnx.operators.matrix_products import broadcast_matmul
from polygym.rewrite.term import Term


def _heads(node: OnnxNode, x: Term, count: int) -> Term:
    """(n, s, h d) becomes (n, h, s, d)."""
    shape = node.builder.shape(x)
    if len(shape) == 4:
        return x
    if len(shape) != 3 or count < 1 or shape[2] % count:
        node.reject(f"expected {count} heads in the shape {list(shape)}")
    parts = node.builder.reshaped(x, (*shape[:2], count, shape[2] // count))
    return node.builder.transposed(parts, (0, 2, 1, 3))


def _repeated(node: OnnxNode, x: Term, count: int) -> Term:
    """Return as many heads as the queries have: each again and again."""
    batch, heads, *rest = node.builder.shape(x)
    if heads == count:
        return x
    if count % heads:
        node.reject(f"expected {count} heads to be a multiple of {heads}")
    x = node.builder.reshaped(x, (batch, heads, 1, *rest))
    x = expand_to(node, x, (batch, heads, count // heads, *rest))
    return node.builder.reshaped(x, (batch, count, *rest))


def _mask(node: OnnxNode, like: Term, rows: int, columns: int) -> list[Term]:
    """Return what is added to the scores."""
    result = []
    if node.attribute("is_causal", 0):
        above = np.triu(np.full((rows, columns), -np.inf), 1)
        result.append(node.weight(above.astype(node.builder.tensor(like).dtype), "causal"))
    if node.has(3):
        known = node.known_array(3)
        if known is not None and known.dtype == np.bool_:
            floor = np.where(known, 0.0, -np.inf).astype(node.builder.tensor(like).dtype)
            result.append(node.weight(floor, node.names[3]))
        else:
            result.append(node.term(3))
    return result


def _attention(node: OnnxNode) -> Term:
    if any(node.has(place) for place in range(4, len(node.values))) or len(node.outputs) > 1:
        node.reject("expected queries, keys, values and a mask alone, found a state of the past")
    if node.attribute("softcap", 0.0):
        node.reject(f"expected no softcap, found {node.attribute('softcap')}")
    q = _heads(node, node.term(0), node.attribute("q_num_heads", 0))
    k, v = (_heads(node, node.term(place), node.attribute("kv_num_heads", 0)) for place in (1, 2))
    batch, heads, rows, width = node.builder.shape(q)
    k, v = (_repeated(node, term, heads) for term in (k, v))
    scale = node.attribute("scale") or width**-0.5
    q = node.pairwise("mul", q, node.scalar(shortest_float(scale), q))
    scores = broadcast_matmul(node, q, node.builder.transposed(k, (0, 1, 3, 2)))
    for mask in _mask(node, q, rows, node.builder.shape(k)[2]):
        scores = node.pairwise("add", scores, mask)
    result = broadcast_matmul(node, node.make("softmax", 3, scores), v)
    if len(node.shape(0)) == 4:
        return result
    result = node.builder.transposed(result, (0, 2, 1, 3))
    return node.make(
        "reshape", result, shape_literal((batch, rows, heads * node.builder.shape(v)[3]))
    )


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport(
        "Attention",
        _attention,
        "is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision",
    ),
)
