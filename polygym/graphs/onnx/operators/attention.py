"""Attention, from ONNX: products of queries with keys, masks, softmax, a product with values.

Masks are added: 0 where a query looks at a key, -∞ where it does not. Keys and values of the past
come first. A query that looks at no key gives 0.
"""

import numpy as np

from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode, shortest_float
from polygym.graphs.onnx.operators.elementwise import converted, expand_to
from polygym.graphs.onnx.operators.matrix_products import broadcast_matmul
from polygym.graphs.operators.types import shape_text
from polygym.rewrite.term import Term

_PAST_KEY, _PAST_VALUE, _LENGTHS = 4, 5, 6


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


def _bias_of(node: OnnxNode, truth: Term, like: Term) -> Term:
    """Return 0 where something holds, -∞ otherwise."""
    held = converted(node, truth, node.builder.tensor(like).dtype)
    return node.make("where", held, node.scalar(0.0, like), node.scalar(-np.inf, like))


def _given_mask(node: OnnxNode, like: Term, columns: int) -> Term:
    """Return the mask that is given, for all keys: those beyond it are not looked at."""
    mask = node.term(3)
    if node.types[3] == "bool":
        mask = _bias_of(node, mask, like)
    shape = node.builder.shape(mask)
    if not shape or shape[-1] == columns:
        return mask
    if shape[-1] > columns:
        node.reject(f"expected a mask for {columns} keys, found the shape {list(shape)}")
    pads = [0] * (2 * len(shape))
    pads[-1] = columns - shape[-1]
    return node.make("pad", -np.inf, shape_text(tuple(pads)), mask)


def _bias(node: OnnxNode, like: Term, rows: int, columns: int) -> tuple[Term | None, bool]:
    """Return what is added to the scores, and whether a row of it may be all -∞."""
    parts: list[Term] = []
    past = node.shape(_PAST_KEY)[2] if node.has(_PAST_KEY) else 0
    lengths = node.has(_LENGTHS)
    is_causal = bool(node.attribute("is_causal", 0))
    if node.has(3):
        parts.append(_given_mask(node, like, columns))
    if is_causal and not lengths:
        ahead = np.triu(np.full((rows, columns), -np.inf), 1 + past)
        parts.append(node.weight(ahead.astype(node.builder.tensor(like).dtype), "causal"))
    if lengths:
        count = converted(node, node.term(_LENGTHS), "int64")
        count = node.builder.reshaped(count, (node.builder.shape(count)[0], 1, 1, 1))
        keys = node.weight(np.arange(columns), f"keys_{columns}")
        parts.append(_bias_of(node, node.make("less", keys, count), like))
        if is_causal:
            row = node.weight(np.arange(rows).reshape(rows, 1) - rows + 1, f"queries_{rows}")
            last = node.make("add", count, row)
            parts.append(_bias_of(node, node.make("less", keys, last), like))
    if not parts:
        return None, False
    total = parts[0]
    for part in parts[1:]:
        total = node.pairwise("add", total, part)
    return total, bool(node.has(3) or lengths)


def _with_past(node: OnnxNode, place: int, x: Term) -> Term:
    return node.make("concat2", 2, node.term(place), x) if node.has(place) else x


def _attention(node: OnnxNode) -> tuple[Term, ...]:
    builder = node.builder
    q = _heads(node, node.term(0), node.attribute("q_num_heads", 0))
    k, v = (_heads(node, node.term(place), node.attribute("kv_num_heads", 0)) for place in (1, 2))
    present = k, v = _with_past(node, _PAST_KEY, k), _with_past(node, _PAST_VALUE, v)
    batch, heads, rows, width = builder.shape(q)
    k, v = (_repeated(node, term, heads) for term in (k, v))
    scale = node.attribute("scale", width**-0.5)
    scaled = node.pairwise("mul", q, node.scalar(shortest_float(scale), q))
    scores = [broadcast_matmul(node, scaled, builder.transposed(k, (0, 1, 3, 2)))]
    if (cap := node.attribute("softcap", 0.0)) > 0:
        bound = node.scalar(shortest_float(cap), q)
        bent = node.make("tanh", node.pairwise("div", scores[-1], bound))
        scores.append(node.pairwise("mul", bent, bound))
    else:
        scores.append(scores[-1])
    bias, may_be_empty = _bias(node, q, rows, builder.shape(k)[2])
    scores.append(scores[-1] if bias is None else node.pairwise("add", scores[-1], bias))
    scores.append(_shares(node, scores[-1], bias if may_be_empty else None))
    result = broadcast_matmul(node, scores[-1], v)
    if len(node.shape(0)) == 3:
        result = builder.transposed(result, (0, 2, 1, 3))
        result = builder.reshaped(result, (batch, rows, heads * builder.shape(v)[3]))
    mode = node.attribute("qk_matmul_output_mode", 0)
    if mode not in range(4):
        node.reject(f"expected 0 to 3 for qk_matmul_output_mode, found {mode}")
    return result, *present, scores[mode]


def _shares(node: OnnxNode, scores: Term, bias: Term | None) -> Term:
    """Return the softmax; 0 in rows whose bias is all -∞."""
    shares = node.make("softmax", 3, scores)
    if bias is None:
        return shares
    rank = len(node.builder.shape(bias))
    largest = node.make("reduce-max", max(rank - 1, 0), 1, bias) if rank else bias
    is_empty = node.make("equal", largest, node.scalar(-np.inf, largest))
    return node.make("where", is_empty, node.scalar(0.0, shares), shares)


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport(
        "Attention",
        _attention,
        "is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision",
    ),
)
