"""Random movements of elements, against onnxruntime."""

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

from polygym.errors import InputError
from polygym.graphs.onnx import read
from tests.graphs.onnx.sessions import (
    QUICK,
    assert_close,
    check,
    evaluated,
    numbers,
    save,
    shapes,
)


@QUICK
@given(x=shapes, data=st.data())
def test_moving(x: tuple[int, ...], data: Any, tmp_path: Path) -> None:
    image, rank = numbers(*x), len(x)
    check(tmp_path, "Transpose", image)
    check(tmp_path, "Transpose", image, perm=data.draw(st.permutations(range(rank))))
    check(tmp_path, "Flatten", image, axis=data.draw(st.integers(0, rank)))
    check(tmp_path, "Flatten", image, axis=data.draw(st.integers(-rank, 0)))
    check(tmp_path, "Reshape", image, np.array([0, -1], np.int64))
    check(tmp_path, "Reshape", image, np.array([-1], np.int64))
    ones = [axis for axis, extent in enumerate(x) if extent == 1]
    check(tmp_path, "Squeeze", image, opset=11)
    if ones:
        check(tmp_path, "Squeeze", image, np.array([ones[-1] - rank], np.int64), opset=13)
        check(tmp_path, "Squeeze", image, axes=ones, opset=11)
    axis = data.draw(st.integers(-rank - 2, rank + 1))
    axes = sorted({axis, 0})
    if len({axis % (rank + len(axes)) for axis in axes}) == len(axes):
        if all(-rank - len(axes) <= axis < rank + len(axes) for axis in axes):
            check(tmp_path, "Unsqueeze", image, np.array(axes, np.int64), opset=13)
    wide = tuple(data.draw(st.integers(1, 3)) if extent == 1 else extent for extent in x)
    check(tmp_path, "Expand", image, np.array((2, *wide), np.int64))
    repeats = data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    check(tmp_path, "Tile", image, np.array(repeats, np.int64))


@QUICK
@given(extent=st.integers(2, 9), data=st.data())
def test_parts(extent: int, data: Any, tmp_path: Path) -> None:
    image = numbers(2, extent, 3)
    start, stop = (data.draw(st.integers(-extent - 2, extent + 2)) for _ in range(2))
    step = data.draw(st.integers(1, 3))
    assume(len(range(*slice(start, stop, step).indices(extent))) > 0)
    bounds = [np.array([bound], np.int64) for bound in (start, stop, 1, step)]
    check(tmp_path, "Slice", image, *bounds)
    if step == 1:
        check(tmp_path, "Slice", image, opset=9, starts=[start], ends=[stop], axes=[-2])
    at = data.draw(st.integers(1, extent - 1))
    sizes = [at, extent - at]
    check(tmp_path, "Split", image, np.array(sizes, np.int64), axis=1, outputs=2)
    check(tmp_path, "Split", image, axis=-2, split=sizes, outputs=2, opset=11)
    check(tmp_path, "Split", numbers(2, 6, 3), axis=1, outputs=3, opset=11)
    check(tmp_path, "Split", numbers(7, 2), axis=0, outputs=3, opset=18, num_outputs=3)
    indices = data.draw(st.lists(st.integers(-extent, extent - 1), min_size=1, max_size=3))
    for chosen in (np.array(indices), np.array(indices[0]), np.array([indices])):
        check(tmp_path, "Gather", image, chosen.astype(np.int64), axis=1)


def test_gather_by_an_input(tmp_path: Path) -> None:
    node = helper.make_node("Gather", ["table", "x"], ["y"])
    table = numbers(7, 3)
    path = save(
        tmp_path / "one.onnx",
        [node],
        {"x": (2, 4)},
        weights={"table": table},
        dtype=TensorProto.INT64,
    )
    ids = np.random.default_rng(0).integers(0, 7, (2, 4))
    assert_close([table[ids]], evaluated(read(path), [ids]))


@QUICK
@given(pads=st.tuples(*[st.integers(-1, 2)] * 4), value=st.none() | st.floats(-1, 1, width=16))
def test_pads(pads: Any, value: float | None, tmp_path: Path) -> None:
    image = numbers(3, 4)
    constants = [] if value is None else [np.array(value, np.float32)]
    check(tmp_path, "Pad", image, np.array(pads, np.int64), *constants)
    check(tmp_path, "Pad", image, pads=pads, value=value or 0.0, opset=9)


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_pads_of_the_tensor_itself(mode: str, tmp_path: Path) -> None:
    pads = np.array([0, 2, 1, 1, 0, 2], np.int64)
    check(tmp_path, "Pad", numbers(2, 4, 3), pads, opset=19, mode=mode)
    check(tmp_path, "Pad", numbers(3, 4), np.array([-1, 2, 0, 1], np.int64), opset=19, mode=mode)


def test_backwards(tmp_path: Path) -> None:
    for start, stop, step in ((-1, -100, -1), (4, 0, -2), (3, 1, -1)):
        bounds = [np.array([bound], np.int64) for bound in (start, stop, 1, step)]
        check(tmp_path, "Slice", numbers(2, 5, 3), *bounds)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_and_space(mode: str, tmp_path: Path) -> None:
    check(tmp_path, "DepthToSpace", numbers(2, 8, 3, 4), blocksize=2, mode=mode)
    check(tmp_path, "SpaceToDepth", numbers(2, 3, 4, 6), blocksize=2)


def test_concat_and_cast(tmp_path: Path) -> None:
    check(tmp_path, "Concat", numbers(2, 3), numbers(2, 1), numbers(2, 0), axis=-1)
    check(tmp_path, "Cast", numbers(2, 3), to=TensorProto.FLOAT)
    check(tmp_path, "CastLike", numbers(2, 3), numbers(1))
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E5M2)
    path = save(tmp_path / "one.onnx", [node], {"x": (2, 3)}, opset=19)
    with pytest.raises(InputError, match=r"type that Cast is computed for, found float8_e5m2"):
        read(path)
