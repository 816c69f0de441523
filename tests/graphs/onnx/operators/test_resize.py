"""Images made larger or smaller, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import helper

from polygym.errors import InputError
from polygym.graphs.onnx import read
from tests.graphs.onnx.sessions import QUICK, assert_same, numbers, save

MODES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]


def resized(folder: Path, scales: Any, sizes: Any, opset: int = 18, **attributes: Any) -> Any:
    """Compare a node of an image of 1 by 2 by 5 by 7 with onnxruntime."""
    node = helper.make_node("Resize", ["x", "", "s", "n"], ["y"], "resize", **attributes)
    weights = {}
    if sizes is None:
        node.input[3] = ""
        weights["s"] = np.array(scales, np.float32)
    else:
        node.input[2] = ""
        weights["n"] = np.array(sizes, np.int64)
    path = save(folder / "one.onnx", [node], {"x": (1, 2, 5, 7)}, weights=weights, opset=opset)
    return assert_same(path, [numbers(1, 2, 5, 7)])


@QUICK
@given(
    kind=st.sampled_from(["nearest", "linear", "cubic"]),
    mode=st.sampled_from(MODES),
    rounding=st.sampled_from(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]),
    sizes=st.tuples(st.integers(1, 15), st.integers(1, 15)),
    is_scaled=st.booleans(),
    excludes=st.integers(0, 1),
)
def test_resized_images(
    kind: str,
    mode: str,
    rounding: str,
    sizes: tuple[int, int],
    is_scaled: bool,
    excludes: int,
    tmp_path: Path,
) -> None:
    attributes: dict[str, Any] = {"mode": kind, "coordinate_transformation_mode": mode}
    if kind == "nearest":
        attributes["nearest_mode"] = rounding
    if kind == "cubic":
        attributes |= {"cubic_coeff_a": -0.5, "exclude_outside": excludes}
    scales = [1.0, 1.0, (sizes[0] + 0.25) / 5, (sizes[1] + 0.25) / 7]
    assume(not (is_scaled and mode == "align_corners" and 1 in sizes))
    resized(tmp_path, scales, None if is_scaled else (1, 2, *sizes), **attributes)


def test_twice_as_large_is_repeated(tmp_path: Path) -> None:
    """What PyTorch writes for nearest: nothing is gathered, elements are seen again."""
    model = resized(
        tmp_path,
        [1, 1, 2, 3],
        None,
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    assert {node.head for node in model.graph.nodes()} == {"input", "reshape", "expand"}


@pytest.mark.parametrize("kind", ["nearest", "linear"])
def test_the_operators_before(kind: str, tmp_path: Path) -> None:
    for name, opset in (("Upsample", 9), ("Resize", 10)):
        node = helper.make_node(name, ["x", "s"], ["y"], mode=kind)
        weights = {"s": np.array([1, 1, 2, 1.6], np.float32)}
        path = save(tmp_path / "one.onnx", [node], {"x": (1, 2, 5, 7)}, ("y",), weights, opset)
        assert_same(path, [numbers(1, 2, 5, 7)])


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"mode": "area"}, "nearest, linear, cubic for mode"),
        ({"coordinate_transformation_mode": "tf_crop_and_resize"}, "expected an input number 1"),
        ({"keep_aspect_ratio_policy": "other"}, "stretch"),
    ],
)
def test_what_is_not_there(attributes: Any, said: str, tmp_path: Path) -> None:
    node = helper.make_node("Resize", ["x", "", "", "n"], ["y"], "resize", **attributes)
    weights = {"n": np.array([1, 2, 6, 6], np.int64)}
    path = save(tmp_path / "one.onnx", [node], {"x": (1, 2, 5, 7)}, weights=weights, opset=18)
    with pytest.raises(InputError, match=rf"node 0 \(Resize, resize\).*{said}"):
        read(path)
