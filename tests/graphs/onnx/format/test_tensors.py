"""Weights in files beside the model: read, and refused where they lead elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from onnx import TensorProto, helper

from polygym.errors import InputError
from polygym.graphs.ir.graph import Model
from polygym.graphs.onnx import read
from polygym.graphs.onnx.format import array_of
from tests.graphs.onnx.sessions import evaluated, numbers, save

NODE = helper.make_node("Add", ["x", "w"], ["y"])


def beside(path: Path, w: np.ndarray[Any, Any], **changes: Any) -> Path:
    """Write a model whose weight lies in a file beside it, with places as they are said."""
    save(path, [NODE], {"x": (2, 3)}, weights={"w": w})
    model = onnx.load(path)
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    places = {"location": "w.bin", "offset": 8, "length": w.nbytes} | changes
    for key, value in places.items():
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    path.with_name("w.bin").write_bytes(bytes(8) + w.tobytes())
    path.write_bytes(model.SerializeToString())
    return path


def test_data_beside_the_model(tmp_path: Path) -> None:
    w, x = numbers(2, 3), numbers(2, 3, seed=1)
    for changes in ({}, {"length": None}, {"checksum": "abc"}):
        model = read(beside(tmp_path / "m.onnx", w, **changes))
        np.testing.assert_array_equal(evaluated(model, [x])[0], x + w)
    half = w.astype(np.float16)
    array = read(beside(tmp_path / "m.onnx", half)).weights["w"]
    np.testing.assert_array_equal(array, half.astype(np.float32))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"location": "../w.bin"}, "in a file beside the model, found the place '../w.bin'"),
        ({"location": "/etc/passwd"}, "found the place '/etc/passwd'"),
        ({"location": ""}, "in a file beside the model"),
        ({"location": None}, "in a file beside the model"),
        ({"location": "none.bin"}, "expected its data in"),
        ({"location": "."}, "expected a file inside of"),
        ({"location": "pipe"}, "expected a file inside of"),
        ({"location": "link"}, "leads elsewhere"),
        ({"location": "folder/w.bin"}, "leads elsewhere"),
        ({"offset": 9}, "expected 24 bytes"),
        ({"offset": -1}, "expected 24 bytes"),
        ({"offset": "x"}, "expected numbers for offset"),
        ({"length": 12}, "expected 24 bytes"),
        ({"length": 1 << 60}, "expected 24 bytes"),
    ],
)
def test_data_that_is_not_there(changes: Any, said: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    elsewhere = tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (elsewhere / "w.bin").write_bytes(bytes(100))
    (folder / "link").symlink_to(elsewhere / "w.bin")
    (folder / "folder").symlink_to(elsewhere)
    os.mkfifo(folder / "pipe")
    path = beside(folder / "m.onnx", numbers(2, 3), **changes)
    with pytest.raises(InputError) as caught:
        read(path)
    assert f"{path}: tensor w: " in str(caught.value)
    assert said in str(caught.value)


def test_data_is_found_whatever_the_folder_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside(tmp_path / "m.onnx", numbers(2, 3))
    monkeypatch.chdir(tmp_path)
    assert isinstance(read("m.onnx"), Model)
    (tmp_path / "other").symlink_to(tmp_path)
    assert isinstance(read("other/m.onnx"), Model)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool", "uint8"])
def test_types_of_elements(dtype: str, tmp_path: Path) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    for tensor in (
        onnx.numpy_helper.from_array(array, "w"),
        helper.make_tensor(
            "w", helper.np_dtype_to_tensor_dtype(array.dtype), (2, 3), array.ravel()
        ),
    ):
        result = array_of(tensor, tmp_path, "here")
        assert result.dtype == array.dtype
        np.testing.assert_array_equal(result, array)


def test_half_precisions_stay(tmp_path: Path) -> None:
    for name in ("FLOAT16", "BFLOAT16"):
        tensor = helper.make_tensor("w", getattr(TensorProto, name), (3,), [1.0, 0.5, -2.0])
        array = array_of(tensor, tmp_path, "here")
        assert array.dtype.name == name.lower()
        assert array.tolist() == [1.0, 0.5, -2.0]


def test_weights_of_another_type(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [NODE], {"x": (2, 3)}, weights={"w": np.ones(3, np.int8)})
    with pytest.raises(InputError, match=r"node 0 \(Add.*expected equal types, found float32"):
        read(path)
