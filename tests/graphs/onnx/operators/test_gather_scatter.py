"""Elements chosen by places and put at places, known and computed, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper

from polygym.errors import InputError
from polygym.graphs.execution import compile_model
from polygym.graphs.onnx import read
from tests.graphs.onnx.sessions import assert_close, evaluated, numbers, run, save

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(7)


def places(low: int, high: int, *shape: int) -> Array:
    return RNG.integers(low, high, shape)


def same(
    folder: Path, kind: str, x: Array, indices: Array, *updates: Array, **attributes: Any
) -> None:
    """Compare onnxruntime, the reference and machine code, for known and for computed indices."""
    for is_known in (True, False) if kind.startswith("Gather") else (True,):
        names = ["x", "i", "u"][: 2 + len(updates)]
        given = dict(zip(names, (x, indices, *updates), strict=True))
        known = {"i": given.pop("i")} if is_known else {}
        node = helper.make_node(kind, names, ["y"], **attributes)
        kinds = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}
        graph = helper.make_graph(
            [node],
            "by hand",
            [
                helper.make_tensor_value_info(name, kinds[array.dtype.name], array.shape)
                for name, array in given.items()
            ],
            [helper.make_tensor_value_info("y", kinds[x.dtype.name], None)],
            [
                helper.make_tensor(name, kinds["int64"], tensor.shape, tensor)
                for name, tensor in known.items()
            ],
        )
        path = folder / "one.onnx"
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        path.write_bytes(model.SerializeToString())
        expected = run(path, list(given.values()))
        imported = read(path)
        assert_close(expected, evaluated(imported, list(given.values())), 0.0)
        assert_close(expected, [compile_model(imported)(*given.values())], 0.0)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 4, 5)])
def test_elements_along_an_axis(axis: int, shape: tuple[int, ...], tmp_path: Path) -> None:
    extents = (3, 4, 5)
    chosen = tuple(2 if place == axis % 3 else extent for place, extent in enumerate(shape))
    indices = places(-extents[axis], extents[axis], *chosen)
    same(tmp_path, "GatherElements", numbers(*extents), indices, axis=axis)


@pytest.mark.parametrize(
    ("shape", "indices", "batch"),
    [
        ((3, 4, 5), (6, 2), 0),
        ((3, 4, 5), (2, 3, 1), 0),
        ((3, 4, 5), (3,), 0),
        ((3, 4, 5), (3, 2, 1), 1),
        ((3, 4, 5), (3, 2, 2), 1),
        ((3, 4, 5), (3, 4, 1), 2),
    ],
)
def test_slices_by_several_indices(
    shape: tuple[int, ...], indices: tuple[int, ...], batch: int, tmp_path: Path
) -> None:
    extents = np.array(shape[batch : batch + indices[-1]])
    chosen = RNG.integers(-extents, extents, indices)
    same(tmp_path, "GatherND", numbers(*shape), chosen, batch_dims=batch)


def test_whole_numbers_are_chosen_too(tmp_path: Path) -> None:
    table = np.array([[1, 2], [3, 2**60 + 1]])
    same(tmp_path, "GatherElements", table, np.array([[1, -1], [0, -2]]), axis=1)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_slices_put_at_known_places(count: int, tmp_path: Path) -> None:
    shape = (3, 4, 5)
    every = np.argwhere(np.ones(shape[:count]))
    for number in (1, 2, len(every)):
        chosen = RNG.permutation(every)[:number]
        chosen = np.where(RNG.random(chosen.shape) < 0.5, chosen, chosen - shape[:count])
        updates = numbers(number, *shape[count:], seed=1)
        same(tmp_path, "ScatterND", numbers(*shape), chosen, updates)


@pytest.mark.parametrize("axis", [0, 1])
def test_elements_put_at_known_places(axis: int, tmp_path: Path) -> None:
    x = numbers(3, 5)
    along = [RNG.permutation(x.shape[axis])[:2] for _ in range(x.shape[1 - axis])]
    indices = np.stack(along, axis)
    same(tmp_path, "ScatterElements", x, indices, numbers(*indices.shape, seed=1), axis=axis)


def test_computed_indices_may_count_from_the_end(tmp_path: Path) -> None:
    x, indices = numbers(4, 3), np.array([[-1, 0], [3, -4]])
    for axis in (0, 1):
        chosen = np.clip(indices, -x.shape[axis], x.shape[axis] - 1)
        same(tmp_path, "Gather", x, chosen, axis=axis)


REFUSED: dict[str, tuple[str, Array, Array | None, dict[str, Any], str]] = {
    "beyond": ("GatherElements", np.array([[0, 4]]), None, {"axis": 1}, "below 3, found 0 to 4"),
    "ranks": ("GatherElements", np.array([0, 1]), None, {}, "expected indices that fit into"),
    "deep": ("GatherND", np.array([[0, 1, 2]]), None, {}, "expected indices into"),
    "batch": ("GatherND", np.array([[0]]), None, {"batch_dims": 1}, "to come first"),
    "updates": ("ScatterND", np.array([[0]]), numbers(2), {}, "expected updates for indices"),
    "added": (
        "ScatterND",
        np.array([[0]]),
        numbers(1, 3),
        {"reduction": "xor"},
        "reduction, found 'xor'",
    ),
    "large": ("ScatterElements", np.array([[7]]), numbers(1, 1), {"axis": 0}, "below 2, found 7"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused(name: str, tmp_path: Path) -> None:
    kind, indices, updates, attributes, said = REFUSED[name]
    weights = {"i": indices} if updates is None else {"i": indices, "u": updates}
    node = helper.make_node(kind, ["x", *weights], ["y"], **attributes)
    path = save(tmp_path / "one.onnx", [node], {"x": (2, 3)}, weights=weights, opset=18)
    with pytest.raises(InputError, match=rf"node 0 \({kind}.*{said}"):
        read(path)


@pytest.mark.parametrize("is_computed", [False, True])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("kind", ["ScatterND", "ScatterElements"])
def test_several_updates_of_one_place(
    kind: str, reduction: str, is_computed: bool, tmp_path: Path
) -> None:
    """Also of places that are computed, from the end on; of several that replace the last stays."""
    x, updates = numbers(5, 3), numbers(7, 3, seed=1)
    indices = RNG.integers(-5, 5, (7, 3))
    if kind == "ScatterND":
        indices = indices[:, :1]
    if reduction == "none":  # onnxruntime leaves open which of several stays
        indices = np.broadcast_to(np.arange(-4, 0).reshape(4, 1), (4, indices.shape[1]))
        updates = updates[:4]
    inputs: dict[str, Any] = {"x": x.shape, "u": updates.shape}
    weights = {} if is_computed else {"i": np.ascontiguousarray(indices)}
    cast = helper.make_node("Cast", ["f"], ["i"], to=TensorProto.INT64)
    node = helper.make_node(kind, ["x", "i", "u"], ["y"], reduction=reduction)
    arrays = [x, updates]
    if is_computed:
        inputs["f"] = indices.shape
        arrays.append(indices.astype(np.float32))
    nodes = [cast, node] if is_computed else [node]
    path = save(tmp_path / "one.onnx", nodes, inputs, weights=weights, opset=18)
    (expected,) = run(path, arrays)
    model = read(path)
    for result in (evaluated(model, arrays)[0], compile_model(model)(*arrays)):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
