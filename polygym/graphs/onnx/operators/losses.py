"""Losses, from ONNX: the negative log-likelihood of known classes, and that after a softmax."""

import numpy as np

from polygym.graphs.ir.build import shape_literal
from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode
from polygym.graphs.onnx.operators.elementwise import converted
from polygym.graphs.onnx.operators.gather_scatter import elements_along
from polygym.rewrite.term import Term


def _log_likelihood_loss(node: OnnxNode, x: Term) -> Term:
    """Return minus the element of each class, weighted, without classes that are ignored."""
    shape, target = node.builder.shape(x), converted(node, node.term(1), "int64")
    chosen = node.builder.shape(target)
    if len(shape) < 2 or chosen != (shape[0], *shape[2:]):
        node.reject(f"expected classes for {list(shape)}, found the shape {list(chosen)}")
    dtype, kept = node.builder.tensor(x).dtype, None
    if (ignored := node.attribute("ignore_index")) is not None:
        is_ignored = node.make("equal", target, node.scalar(ignored, target))
        target = node.make("where", is_ignored, node.scalar(0, target), target)
        is_ignored = converted(node, is_ignored, dtype)
        kept = node.pairwise("sub", node.scalar(1.0, x), is_ignored)
    places = node.builder.reshaped(target, (shape[0], 1, *shape[2:]))
    loss = node.make("neg", elements_along(node, x, places, 1))
    loss = node.builder.reshaped(loss, chosen)
    weights = kept
    if node.has(2):
        weights = node.make("gather", 0, node.term(2), target)
        loss = node.pairwise("mul", loss, weights)
        weights = weights if kept is None else node.pairwise("mul", weights, kept)
    if kept is not None:
        loss = node.make("where", kept, loss, node.scalar(0.0, x))
    return _reduced(node, loss, weights)


def _reduced(node: OnnxNode, loss: Term, weights: Term | None) -> Term:
    reduction = node.attribute("reduction", b"mean")
    if reduction == b"none":
        return loss
    if reduction not in (b"mean", b"sum"):
        node.reject(f"expected none, mean or sum for reduction, found {reduction!r}")
    axes = shape_literal(tuple(range(len(node.builder.shape(loss)))))
    if reduction == b"mean" and weights is None:
        return node.make("reduce-mean", axes, 0, loss)
    total = node.make("reduce-sum", axes, 0, loss)
    if reduction == b"sum":
        return total
    assert weights is not None, "the mean without weights was returned"
    return node.make("div", total, node.make("reduce-sum", axes, 0, weights))


def _negative_log_likelihood(node: OnnxNode) -> Term:
    return _log_likelihood_loss(node, node.term(0))


def _softmax_cross_entropy(node: OnnxNode) -> tuple[Term, ...]:
    x = node.term(0)
    if len(node.builder.shape(x)) < 2:
        node.reject(f"expected an axis of classes, found the shape {list(node.builder.shape(x))}")
    largest = node.make("reduce-max", 1, 1, x)
    most = float(np.finfo(node.builder.tensor(x).dtype).max)
    moved = node.pairwise("sub", x, node.make("clip", -most, most, largest))
    total = node.make("reduce-sum", 1, 1, node.make("exp", moved))
    shares = node.pairwise("sub", moved, node.make("log", total))
    return _log_likelihood_loss(node, shares), shares


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("NegativeLogLikelihoodLoss", _negative_log_likelihood, "ignore_index reduction"),
    OnnxImport("SoftmaxCrossEntropyLoss", _softmax_cross_entropy, "ignore_index reduction"),
)
