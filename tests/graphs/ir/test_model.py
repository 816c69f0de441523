"""Models: arrays for every weight, random ones from a seed."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.graphs.ir.build import binary, concat, conv, graph_input, make_node, matmul, weight
from polygym.graphs.ir.graph import Graph, Model, random_inputs, random_weights


def _graph() -> Graph:
    image, ids = graph_input("image", 1, 8, 9, 9), graph_input("ids", 4, dtype="int64")
    looked_up = make_node("gather", 0, weight("table", 50, 400), ids)
    return Graph.of(
        "g",
        conv(image, weight("kernel", 64, 8, 3, 3)),
        matmul(looked_up, weight("w", 400, 100)),
        binary("add", looked_up, weight("bias", 400)),
    )


def test_weights_that_are_missing_or_others_are_refused() -> None:
    graph = Graph.of("g", matmul(graph_input("x", 2, 3), weight("w", 3, 4)))
    right = np.zeros((3, 4), np.float32)
    assert Model(graph, {"w": right, "unused": right}).weights["w"] is right
    with pytest.raises(InputError, match="graph g: the weight w has no values"):
        Model(graph, {})
    for wrong in (np.zeros((4, 3), np.float32), np.zeros((3, 4))):
        with pytest.raises(InputError, match="expected 3-4 for the weight w, found float"):
            Model(graph, {"w": wrong})


def test_random_weights_are_as_large_as_what_they_multiply_is_many() -> None:
    arrays = random_weights(_graph())
    assert arrays["kernel"].std() == pytest.approx((8 * 9) ** -0.5, rel=0.05)
    assert arrays["w"].std() == pytest.approx(400**-0.5, rel=0.05)
    assert abs(arrays["w"].mean()) < 1e-3


def test_random_values_are_of_the_types_that_the_graph_says() -> None:
    graph = _graph()
    Model(graph, random_weights(graph))
    for signature, array in zip(graph.signatures, random_inputs(graph), strict=True):
        assert array.shape == signature.tensor.shape
        assert array.dtype.name == signature.tensor.dtype
        # Indices that no table is too small for.
        assert signature.tensor.dtype == "float32" or set(array.tolist()) <= {0, 1}


def test_the_seed_and_the_name_say_all() -> None:
    graph = _graph()
    arrays, same, other = (random_weights(graph, seed) for seed in (1, 1, 2))
    for name, array in arrays.items():
        assert np.array_equal(array, same[name])
        assert not np.array_equal(array, other[name])
    # The same weights in another graph have the same values: rewriting must not change them.
    w, v = weight("w", 400, 100), weight("v", 400, 100)
    rewritten = Graph.of("h", matmul(graph_input("x", 2, 400), concat(1, [v, w])))
    assert np.array_equal(random_weights(rewritten, 1)["w"], arrays["w"])
    assert not np.array_equal(random_weights(rewritten, 1)["v"], arrays["w"])


def test_inputs_from_a_seed() -> None:
    graph = _graph()
    arrays, same, other = (random_inputs(graph, seed) for seed in (1, 1, 2))
    assert all(map(np.array_equal, arrays, same))
    assert not np.array_equal(arrays[0], other[0])
