"""Shapes and types: as PyTorch has them where a node makes sense, and refused where none does."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.graphs.ir.build import graph_input, make_node, weight
from polygym.graphs.ir.domain import TENSOR_DOMAIN, infer_all
from polygym.graphs.operators.registry import OPERATORS
from polygym.graphs.operators.types import Data, TensorPair, TensorType
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head, Term, postorder
from tests.graphs.random_graphs import random_graph
from tests.graphs.torch_oracle import node_in_torch, values_in_torch

_SMALL = st.lists(st.integers(1, 4), max_size=4).map(tuple)


def _zeros(node: Term) -> np.ndarray:
    """Return zeros, of floating point for integers too: PyTorch has few functions of these."""
    result = infer_all((node,))[node]
    assert isinstance(result, TensorType)
    return np.zeros(result.shape, result.dtype.replace("int", "float"))


def _compare(result: object, data: Data) -> None:
    if isinstance(data, TensorPair):
        first, second = result  # type: ignore[misc]
        _compare(first, data.first)
        _compare(second, data.second)
    elif isinstance(data, TensorType):
        assert isinstance(result, torch.Tensor)
        assert tuple(result.shape) == data.shape


def test_shapes_are_those_of_pytorch_for_every_operator() -> None:
    seen: Counter[str] = Counter()
    for seed in range(120):
        graph = random_graph(seed, 25)
        values = {
            str(term.children[0].head).rpartition("@")[0]: _zeros(term)
            for term in (*graph.terms(), *graph.inputs)
            if term.head in ("input", "weight")
        }
        results = values_in_torch([root for _, root in graph.outputs], values)
        for term in graph.nodes():
            seen[str(term.head)] += 1
            _compare(results[term], graph.data(term))
    unseen = {name for name in OPERATORS if not seen[name]} - {"noop"}
    assert unseen == set()
    assert seen["concat2"] * seen["concat3"] > 0


def test_what_is_known_from_weights_alone_takes_no_input() -> None:
    counts: Counter[bool] = Counter()
    for seed in range(60):
        graph = random_graph(seed, 25)
        takes_inputs: dict[Term, bool] = {}
        for term in postorder(result for _, result in graph.outputs):
            # Of a kernel that is enlarged to the size of another, the other's shape alone counts.
            children = term.children[:1] if term.head == "enlarge" else term.children
            takes_inputs[term] = term.head == "input" or any(takes_inputs[c] for c in children)
            data = graph.data(term)
            if isinstance(data, TensorType):
                counts[data.constant] += 1
                assert data.constant is not takes_inputs[term]
    assert min(counts[True], counts[False]) > 100


def _inferred(name: str, *children: Term | Head) -> TensorType | None:
    made = make_node(name, *children)
    try:
        result = infer_all((made,))[made]
    except Inadmissible:
        return None
    assert isinstance(result, TensorType)
    return result


def _computed(name: str, *arguments: object) -> torch.Size | None:
    try:
        return node_in_torch(name, arguments).shape
    except (RuntimeError, IndexError, ValueError):
        return None


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["add", "mul", "maximum", "pow"]), _SMALL, _SMALL)
def test_what_broadcasts_is_what_broadcasts_in_pytorch(
    name: str, one: tuple[int, ...], other: tuple[int, ...]
) -> None:
    tensor_type = _inferred(name, graph_input("x", *one), graph_input("y", *other))
    expected = _computed(name, torch.ones(one), torch.ones(other))
    assert (tensor_type and tensor_type.shape) == (
        expected if expected is None else tuple(expected)
    )


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 3), max_size=2), st.booleans(), st.tuples(*[st.integers(1, 3)] * 4))
def test_what_can_be_multiplied_is_what_can_be_in_pytorch(
    batch: list[int], is_batched: bool, extents: tuple[int, ...]
) -> None:
    rows, inner, again, columns = extents
    one, other = (*batch, rows, inner), (*(batch if is_batched else ()), again, columns)
    tensor_type = _inferred("matmul", "none", graph_input("x", *one), graph_input("y", *other))
    expected = _computed("matmul", "none", torch.ones(one), torch.ones(other))
    assert (tensor_type and tensor_type.shape) == (
        expected if expected is None else tuple(expected)
    )


def test_other_batches_are_not_broadcast() -> None:
    for one, other in (((2, 3), (2, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4))):
        assert _inferred("matmul", "none", graph_input("x", *one), graph_input("y", *other)) is None


def test_types_of_elements() -> None:
    x, i = graph_input("x", 2, 3), graph_input("i", 2, dtype="int64")
    for made, dtype in (
        (make_node("cast", "int32", x), "int32"),
        (make_node("gather", 0, x, i), "float32"),
        (make_node("gather", 0, i, i), "int64"),
        (make_node("ewadd", i, i), "int64"),
        (make_node("reshape", i, "1-2"), "int64"),
        (make_node("pad", 0, "1-1", i), "int64"),
    ):
        inferred = infer_all((made,))[made]
        assert isinstance(inferred, TensorType)
        assert inferred.dtype == dtype


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_convolutions_and_pools_are_those_of_pytorch(data: st.DataObject) -> None:
    extents = st.integers(1, 9)
    stride, kernel = (data.draw(st.tuples(st.integers(1, 3), st.integers(1, 4))) for _ in range(2))
    image = (1, data.draw(st.sampled_from([1, 2, 4, 6])), data.draw(extents), data.draw(extents))
    padding = data.draw(st.sampled_from(["same", "valid", "1-0-1-2", "0-0-0-0"]))
    x = graph_input("x", *image)
    if data.draw(st.booleans()):
        shape = (*data.draw(st.tuples(st.integers(1, 6), st.integers(1, 4))), *kernel)
        tensor_type = _inferred("conv", *stride, padding, "none", x, weight("w", *shape))
        arguments = (*stride, padding, "none", torch.ones(image), torch.ones(shape))
        expected = _computed("conv", *arguments) if image[1] % shape[1] == 0 else None
    else:
        name = data.draw(st.sampled_from(["poolmax", "poolavg"]))
        tensor_type = _inferred(name, x, *kernel, *stride, padding, "none")
        expected = _computed(name, torch.ones(image), *kernel, *stride, padding, "none")
        pads = [int(part) for part in padding.split("-")] if "-" in padding else [0] * 4
        # A window could lie in the padding altogether: it has no largest element.
        is_too_wide = any(pad >= kernel[place % 2] for place, pad in enumerate(pads))
        expected = None if is_too_wide else expected
    assert (tensor_type and tensor_type.shape) == (
        expected if expected is None else tuple(expected)
    )


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 3), st.lists(_SMALL, min_size=2, max_size=4))
def test_what_stands_one_after_the_other_does_in_numpy(
    axis: int, shapes: list[tuple[int, ...]]
) -> None:
    parts = [graph_input(f"x{place}", *shape) for place, shape in enumerate(shapes)]
    tensor_type = _inferred(f"concat{len(parts)}", axis, *parts)
    try:
        expected = np.concatenate([np.ones(shape) for shape in shapes], axis).shape
    except ValueError:
        expected = None
    assert (tensor_type and tensor_type.shape) == expected


@settings(max_examples=200, deadline=None)
@given(_SMALL, _SMALL, st.permutations(range(4)))
def test_other_shapes_and_orders_are_those_of_numpy(
    shape: tuple[int, ...], other: tuple[int, ...], order: list[int]
) -> None:
    x, word = graph_input("x", *shape), "-".join(map(str, other)) or "scalar"
    for name, function in (
        ("reshape", lambda: np.ones(shape).reshape(other).shape),
        ("expand", lambda: np.broadcast_to(np.ones(shape), other).shape),
        ("transpose", lambda: np.ones(shape).transpose(order).shape),
    ):
        tensor_type = _inferred(name, x, "-".join(map(str, order)) if name == "transpose" else word)
        try:
            expected = function()
        except ValueError:
            expected = None
        assert (tensor_type and tensor_type.shape) == expected, name


_X, _Y, _I = graph_input("x", 2, 3), graph_input("y", 4, 5), graph_input("i", 2, 3, dtype="int64")
_IMAGE, _KERNEL = graph_input("image", 1, 4, 6, 6), weight("kernel", 8, 2, 3, 3)
_SPLIT = make_node("split", 1, 1, _X)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (make_node("input", "x"), "expected a name and a shape such as x@64-1024, found 'x'"),
        (make_node("input", "@2"), "expected a name and a shape such as x@64-1024, found '@2'"),
        (make_node("weight", "w@2-0"), "expected a name and a shape such as"),
        (
            make_node("weight", "w@2:int8"),
            "expected elements of float32, float64, int32, int64, found 2:int8: cast it before",
        ),
        (make_node("input", 7), "input: expected a word, found 7"),
        (make_node("relu", "x"), "relu: expected a tensor, found 'x'"),
        (make_node("relu", _SPLIT), "relu: expected a tensor, found 2-1 and 2-2"),
        (make_node("relu", _X, _X), "relu: expected x:T, found 2 children"),
        (make_node("split0", _X), "split0: expected a split, found 2-3"),
        (make_node("ewadd", _X, _Y), "ewadd: expected equal shapes, found 2-3 and 4-5"),
        (make_node("ewmul", _X, _I), "ewmul: expected equal shapes, found 2-3 and 2-3:int64"),
        (make_node("add", _X, _Y), "add: expected shapes that broadcast, found 2-3 and 4-5"),
        (make_node("add", _X, _I), "add: expected equal types, found float32 and int64"),
        (make_node("matmul", "none", _X, _Y), "expected matrices that can be multiplied"),
        (
            make_node("matmul", "none", _X, graph_input("v", 3)),
            "expected two matrices, found 2-3 and 3",
        ),
        (
            make_node("matmul", "selu", _X, _Y),
            "expected one of none, relu, tanh, sigmoid, gelu, found",
        ),
        (make_node("matmul", 1, _X, _Y), "matmul: expected a word, found 1"),
        (
            make_node("conv", 1, 1, "same", "none", _X, _KERNEL),
            "expected a tensor of rank 4, found",
        ),
        (make_node("conv", 0, 1, "same", "none", _IMAGE, _KERNEL), "expected an integer from 1 on"),
        (make_node("conv", 1.5, 1, "same", "none", _IMAGE, _KERNEL), "from 1 on, found 1.5"),
        (
            make_node("conv", 1, 1, "full", "none", _IMAGE, _KERNEL),
            "expected numbers with '-' between",
        ),
        (make_node("conv", 1, 1, "1-1", "none", _IMAGE, _KERNEL), "expected 4 numbers, found 2"),
        (
            make_node("conv", 1, 1, "same", "none", _IMAGE, weight("w", 8, 3, 3, 3)),
            "expected channels in groups that fit, found 1-4-6-6 and 8-3-3-3",
        ),
        (
            make_node("conv", 1, 1, "valid", "none", _IMAGE, weight("w", 8, 4, 7, 7)),
            "expected an image at least as large as the window (7, 7), found (6, 6)",
        ),
        (
            make_node("poolmax", _IMAGE, 2, 2, 1, 1, "2-0-0-0", "none"),
            "expected pads smaller than the window, found 2-0-0-0",
        ),
        (make_node("transpose", _X, "0-0"), "expected a permutation of 2 axes, found 0-0"),
        (make_node("transpose", _X, "0-1-2"), "expected a permutation of 2 axes, found 0-1-2"),
        (make_node("enlarge", _KERNEL, weight("w", 1, 1, 4, 4)), "fits into the middle of another"),
        (make_node("enlarge", _KERNEL, weight("w", 1, 1, 1, 1)), "fits into the middle of another"),
        (
            make_node("concat2", 0, _X, _Y),
            "expected shapes that differ along axis 0 alone: 2-3 and 4-5",
        ),
        (make_node("concat2", 2, _X, _X), "expected an axis below 2, found 2"),
        (make_node("concat2", -1, _X, _X), "expected an integer from 0 on, found -1"),
        (make_node("concat3", 0, _X, _X), "expected axis:N x0:T x1:T x2:T, found 3 children"),
        (make_node("split", 1, 3, _X), "expected to split 3 below its end, found 3"),
        (make_node("split", 1, 0, _X), "expected an integer from 1 on, found 0"),
        (
            make_node("merge", _KERNEL, 2, 3),
            "expected groups that can be merged by 2, found 3 of 8",
        ),
        (make_node("reshape", _X, "2-2"), "expected a shape of 6 elements, found 2-2"),
        (make_node("expand", _X, "4-3"), "expected shapes that broadcast, found 2-3 and 4-3"),
        (make_node("softmax", 2, _X), "expected an axis below 2, found 2"),
        (make_node("clip", 1, 0, _X), "expected a lower bound below the upper, found 1 and 0"),
        (make_node("leaky-relu", "a", _X), "expected a number, found 'a'"),
        (
            make_node("layer-norm", 1e-5, _X, weight("a", 2), weight("b", 2)),
            "expected scale and bias of the last extent of 2-3, found 2 and 2",
        ),
        (
            make_node("layer-norm", 1e-5, _X, weight("a", 3), weight("b", 3, dtype="float64")),
            "expected scale and bias of the last extent of 2-3, found 3 and 3:float64",
        ),
        (make_node("reduce-sum", "0-0", 1, _X), "expected different axes of 2-3, found 0-0"),
        (make_node("reduce-max", 2, 1, _X), "expected different axes of 2-3, found 2"),
        (make_node("reduce-mean", "scalar", 1, _X), "expected different axes of 2-3, found scalar"),
        (make_node("gather", 0, _X, _Y), "expected indices of integers, found float32"),
        (make_node("gather", 2, _X, _I), "expected an axis below 2, found 2"),
        (make_node("slice", 0, 1, 1, 1, _X), "expected a range inside of 2, found 1 to 1"),
        (make_node("slice", 0, 0, 3, 1, _X), "expected a range inside of 2, found 0 to 3"),
        (make_node("slice", 0, 0, 2, 0, _X), "expected an integer from 1 on, found 0"),
        (make_node("pad", 0, "1-1", _X), "expected 4 numbers, found 2"),
        (
            make_node("cast", "int4", _X),
            "expected one of float32, float64, int32, int64, bool",
        ),
        (
            make_node("relu", make_node("cast", "float16", _X)),
            "expected elements of float32, float64, int32, int64, found 2-3:float16: cast it",
        ),
        (make_node("quotient", _X, _X), "expected integers, found 2-3"),
        (make_node("noop", _X, _SPLIT), "noop: expected a tensor, found 2-1 and 2-2"),
        (
            make_node("ewsub", _X, _X),
            "expected an operator, found 'ewsub'; known operators: input, weight",
        ),
        (make_node("concat1", 0, _X), "expected an operator, found 'concat1'"),
        (make_node("concat02", 0, _X, _X), "expected an operator, found 'concat02'"),
        (
            make_node("concat99999999999", 0, _X, _X),
            "expected an operator, found 'concat99999999999'",
        ),
        (make_node(7, _X), "expected an operator, found 7"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_a_sentence(made: Term, message: str) -> None:
    with pytest.raises(Inadmissible, match=re.escape(message)):
        infer_all((made,))


def test_every_refusal_names_the_operator() -> None:
    for name in OPERATORS:
        with pytest.raises(Inadmissible) as info:
            TENSOR_DOMAIN.infer(name, (TensorType((2,)),) * 9)
        assert str(info.value).startswith(f"{name}: expected ")
