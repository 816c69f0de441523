"""Images of three dimensions, pools of powers, and places of the largest, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper

from polygym.graphs.execution import compile_model
from polygym.graphs.onnx import read
from tests.graphs.onnx.sessions import QUICK, check, numbers, run, save

THREE = st.tuples(*[st.integers(1, 3)] * 3)


@QUICK
@given(
    size=st.tuples(*[st.integers(3, 6)] * 3),
    kernel=THREE,
    strides=THREE,
    pads=st.tuples(*[st.integers(0, 1)] * 6),
    dilations=st.sampled_from([(1, 1, 1), (2, 1, 1), (1, 2, 1)]),
    groups=st.sampled_from([1, 2]),
)
def test_convolutions(
    size: Any, kernel: Any, strides: Any, pads: Any, dilations: Any, groups: int, tmp_path: Path
) -> None:
    wide = [(extent - 1) * gap + 1 for extent, gap in zip(kernel, dilations, strict=True)]
    assume(all(a <= b for a, b in zip(wide, size, strict=True)))
    attributes = {"strides": strides, "dilations": dilations, "pads": pads, "group": groups}
    w, bias = numbers(4, 4 // groups, *kernel, seed=1), numbers(4, seed=2)
    check(tmp_path, "Conv", numbers(2, 4, *size), w, bias, **attributes)
    turned, attributes["pads"] = numbers(4, 2, *kernel, seed=3), (0, 0, 1, 0, 0, 0)
    check(tmp_path, "ConvTranspose", numbers(2, 4, *size), turned, **attributes)


@QUICK
@given(
    size=st.tuples(*[st.integers(3, 6)] * 3),
    kernel=THREE,
    strides=THREE,
    pads=st.tuples(*[st.integers(0, 1)] * 6),
    counts=st.booleans(),
    ceil=st.booleans(),
)
def test_pools(
    size: Any, kernel: Any, strides: Any, pads: Any, counts: bool, ceil: bool, tmp_path: Path
) -> None:
    assume(all(pad < extent for pad, extent in zip(pads, [*kernel, *kernel], strict=True)))
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "pads": pads}
    image = numbers(2, 3, *size)
    check(tmp_path, "MaxPool", image, ceil_mode=int(ceil), **attributes)
    check(tmp_path, "AveragePool", image, count_include_pad=int(counts), **attributes)
    check(tmp_path, "LpPool", image, p=2, **attributes)


def test_pools_of_powers(tmp_path: Path) -> None:
    for p in (1, 2, 3):
        check(tmp_path, "GlobalLpPool", numbers(2, 3, 4, 5), p=p)
        check(tmp_path, "LpPool", numbers(2, 3, 6, 5), p=p, kernel_shape=[2, 3], strides=[2, 1])


@pytest.mark.parametrize("order", [0, 1])
def test_places_of_the_largest(order: int, tmp_path: Path) -> None:
    node = helper.make_node(
        "MaxPool", ["x"], ["y", "at"], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1],
        storage_order=order,
    )  # fmt: skip
    path = save(tmp_path / "one.onnx", [node], {"x": (2, 3, 7, 6)}, ["y", "at"])
    path.write_bytes(_with_integers(path))
    image = numbers(2, 3, 7, 6)
    for result, expected in zip(compile_model(read(path))(image), run(path, [image]), strict=True):
        np.testing.assert_array_equal(result, expected)


def _with_integers(path: Path) -> bytes:
    import onnx

    model = onnx.load(path)
    model.graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
    return bytes(model.SerializeToString())
