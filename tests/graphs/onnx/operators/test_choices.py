"""The largest few, and images sampled at computed places, against PyTorch and onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
torch = pytest.importorskip("torch")

from onnx import TensorProto, helper  # noqa: E402

from polygym.errors import InputError  # noqa: E402
from polygym.graphs.execution import compile_model  # noqa: E402
from polygym.graphs.onnx import read  # noqa: E402
from tests.graphs.onnx.sessions import assert_close, numbers, run, save  # noqa: E402


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("values", ["different", "ties", "special", "integers"])
def test_the_largest_few(values: str, axis: int, largest: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x: Any = numbers(4, 7, 5)
    if values != "different":
        x = rng.integers(-2, 3, x.shape).astype(np.int64 if values == "integers" else np.float32)
    if values == "special":
        x[rng.random(x.shape) < 0.2] = -np.inf if largest else np.inf
    node = helper.make_node("TopK", ["x", "k"], ["y", "at"], axis=axis, largest=largest)
    own = TensorProto.INT64 if values == "integers" else TensorProto.FLOAT
    path = save(
        tmp_path / "m.onnx", [node], {"x": x.shape}, ["y", "at"], {"k": np.array([3])}, dtype=own
    )
    path.write_bytes(_with_integers(path))
    for result, expected in zip(compile_model(read(path))(x), run(path, [x]), strict=True):
        np.testing.assert_array_equal(result, expected)


def _with_integers(path: Path) -> bytes:
    import onnx

    model = onnx.load(path)
    model.graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
    return bytes(model.SerializeToString())


def test_nan_counts_as_the_largest(tmp_path: Path) -> None:
    x = np.array([[1.0, np.nan, 3.0, 2.0]], np.float32)
    for largest in (0, 1):
        node = helper.make_node("TopK", ["x", "k"], ["y", "at"], largest=largest)
        path = save(tmp_path / "m.onnx", [node], {"x": x.shape}, ["y", "at"], {"k": np.array([4])})
        values, places = compile_model(read(path))(x)
        expected = torch.topk(torch.tensor(x), 4, largest=bool(largest))
        np.testing.assert_array_equal(values, expected.values.numpy())
        np.testing.assert_array_equal(places, expected.indices.numpy())


def test_rows_that_are_too_long_are_refused(tmp_path: Path) -> None:
    node = helper.make_node("TopK", ["x", "k"], ["y", "at"])
    path = save(tmp_path / "m.onnx", [node], {"x": (1, 50000)}, weights={"k": np.array([5])})
    with pytest.raises(InputError, match="at most 67108864 comparisons, found rows of 50000"):
        read(path)


@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_images_at_computed_places(mode: str, padding: str, aligned: int, tmp_path: Path) -> None:
    """Far outside of the image, too."""
    image, grid = numbers(2, 3, 5, 7), 1.7 * numbers(2, 4, 6, 2, seed=1)
    attributes = {"mode": mode, "padding_mode": padding, "align_corners": aligned}
    node = helper.make_node("GridSample", ["x", "g"], ["y"], **attributes)
    path = save(tmp_path / "m.onnx", [node], {"x": image.shape, "g": grid.shape}, opset=16)
    expected = torch.nn.functional.grid_sample(
        torch.tensor(image), torch.tensor(grid), mode, padding, bool(aligned)
    )
    assert_close([expected.numpy()], [compile_model(read(path))(image, grid)])


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_volumes_at_computed_places(mode: str, tmp_path: Path) -> None:
    image, grid = numbers(2, 3, 4, 5, 6), 1.3 * numbers(2, 2, 3, 4, 3, seed=1)
    node = helper.make_node("GridSample", ["x", "g"], ["y"], mode=mode)
    path = save(tmp_path / "m.onnx", [node], {"x": image.shape, "g": grid.shape}, opset=20)
    expected = torch.nn.functional.grid_sample(
        torch.tensor(image),
        torch.tensor(grid),
        "bilinear" if mode == "linear" else mode,
        align_corners=False,
    )
    assert_close([expected.numpy()], [compile_model(read(path))(image, grid)])


@pytest.mark.parametrize("axes", [(0, 1), (1, 0)])
def test_sequences_are_turned_around(axes: tuple[int, int], tmp_path: Path) -> None:
    """ReverseSequence: the first so many elements of each, by known and by computed lengths."""
    x, lengths = numbers(4, 5, 2), np.array([1, 4, 2, 5, 3][: (5, 4)[axes[0]]], np.int64)
    lengths = np.minimum(lengths, x.shape[axes[0]])
    node = helper.make_node(
        "ReverseSequence", ["x", "n"], ["y"], time_axis=axes[0], batch_axis=axes[1]
    )
    path = save(tmp_path / "m.onnx", [node], {"x": x.shape}, weights={"n": lengths})
    assert_close(run(path, [x]), [compile_model(read(path))(x)], 0.0)


@pytest.mark.parametrize("attributes", [{}, {"exclusive": 1}, {"reverse": 1}])
def test_running_products(attributes: dict[str, int], tmp_path: Path) -> None:
    """CumProd of opset 26 is newer than onnxruntime's."""
    x = numbers(3, 7)
    node = helper.make_node("CumProd", ["x", "a"], ["y"], **attributes)
    path = save(tmp_path / "m.onnx", [node], {"x": x.shape}, weights={"a": np.array(1)}, opset=26)
    turned = x[:, ::-1] if attributes.get("reverse") else x
    expected = np.cumprod(turned, axis=1)
    if attributes.get("exclusive"):
        expected = np.hstack([np.ones((3, 1), np.float32), expected[:, :-1]])
    expected = expected[:, ::-1] if attributes.get("reverse") else expected
    assert_close([expected], [compile_model(read(path))(x)], 1e-5)
