"""Files that are broken, foreign or hostile: every one an error that says where, never a crash."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from onnx import TensorProto, helper

from polygym.errors import InputError
from polygym.graphs.onnx import read
from tests.graphs.onnx.sessions import numbers, save


def sound(path: Path) -> Path:
    """Write a model with products, a convolution, shapes and constants."""
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "first", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], "second"),
        helper.make_node("Shape", ["r"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Concat", ["n", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["r", "t"], ["flat"]),
        helper.make_node("Gemm", ["flat", "m"], ["y"], transB=1),
    ]
    weights = {
        "w": numbers(3, 2, 3, 3),
        "b": numbers(3),
        "m": numbers(2, 48),
        "zero": np.array([0], np.int64),
        "rest": np.array([-1], np.int64),
    }
    return save(path, nodes, {"x": (1, 2, 4, 4)}, weights=weights)


def refusal(path: Path, **options: Any) -> str:
    """Return what is said of a file, which is one line."""
    with pytest.raises(InputError) as caught:
        read(path, **options)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    return text


def test_the_sound_one_is_read(tmp_path: Path) -> None:
    assert len(read(sound(tmp_path / "m.onnx")).graph.weights) == 3


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        (b"", "found no graph"),
        (b"a text, not a model\n", "expected an ONNX model"),
        (b"\x00" * 100, "expected an ONNX model"),
        (b"\x08\x08", "found no graph"),
        (b"PK\x03\x04 a zip file", "expected an ONNX model"),
    ],
)
def test_other_files(contents: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(contents)
    assert said in refusal(path)


def test_no_file(tmp_path: Path) -> None:
    assert "found none" in refusal(tmp_path / "none.onnx")
    assert "found a folder" in refusal(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "found another thing" in refusal(tmp_path / "pipe")


def test_files_that_are_too_large(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    with path.open("wb") as file:
        file.truncate(1 << 31)  # no disk is needed: there is nothing in it
    assert "save_as_external_data" in refusal(path)


def test_files_that_are_cut_off_or_changed(tmp_path: Path) -> None:
    """A few hundred of them; what can still be read may be."""
    chance = random.Random(0)
    whole = sound(tmp_path / "m.onnx").read_bytes()
    path = tmp_path / "broken.onnx"
    refused = told = 0
    for number in range(400):
        contents = bytearray(whole)
        if number % 4 == 0:
            contents = contents[: chance.randrange(len(contents))]
        else:
            for _ in range(chance.choice((1, 1, 2, 5))):
                contents[chance.randrange(len(contents))] = chance.choice((0, 1, 255, 65))
        path.write_bytes(contents)
        try:
            read(path)
        except InputError as error:
            refused += "\n" not in str(error)
            told += 1
    assert told == refused > 100


def one(path: Path, *nodes: Any, **options: Any) -> Path:
    """Write nodes whose input is x."""
    return save(path, nodes, {"x": (2, 3)}, **options)


def test_graphs_that_are_none(tmp_path: Path) -> None:
    path, relu = tmp_path / "m.onnx", helper.make_node("Relu", ["x"], ["y"], "one")
    node = helper.make_node("Add", ["x", "z"], ["y"], "sum")
    text = refusal(one(path, node))
    assert "node 0 (Add, sum)" in text
    assert "found z, which nothing makes" in text
    text = refusal(one(path, relu, outputs=["other"]))
    assert "result other" in text
    circle = [
        helper.make_node("Add", ["x", "b"], ["a"], "left"),
        helper.make_node("Relu", ["a"], ["b"], "right"),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    assert "without cycles" in refusal(one(path, *circle))
    assert "without cycles" in refusal(one(path, helper.make_node("Relu", ["y"], ["y"])))
    assert "for the second time" in refusal(one(path, relu, relu))
    again = helper.make_node("Relu", ["x"], ["x"])
    assert "for the second time" in refusal(one(path, again, relu))


def test_nodes_in_another_order_are_read(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["a"], ["y"]), helper.make_node("Neg", ["x"], ["a"])]
    heads = [term.head for term in read(one(tmp_path / "m.onnx", *nodes)).graph.nodes()]
    assert heads == ["input", "neg", "relu"]


def test_long_chains_are_read(tmp_path: Path) -> None:
    count = sys.getrecursionlimit() * 3
    names = ["x", *(f"v{place}" for place in range(count - 1)), "y"]
    nodes = [
        helper.make_node("Add", [names[place], "x"], [names[place + 1]]) for place in range(count)
    ]
    assert len(read(one(tmp_path / "m.onnx", *nodes)).graph.nodes()) == count + 1
    many = [f"x{place}" for place in range(count)]
    total = helper.make_node("Sum", many, ["y"])
    copies = [helper.make_node("Exp", ["x"], [name]) for name in many]
    assert len(read(one(tmp_path / "m.onnx", *copies, total)).graph.nodes()) == count + 1


def test_nodes_that_do_not_matter_are_not_looked_at(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("NoSuchThing", ["x"], ["z"]),
        helper.make_node("Relu", ["x"], ["y"]),
    ]
    assert len(read(one(tmp_path / "m.onnx", *nodes)).graph.nodes()) == 2


@pytest.mark.parametrize(
    ("kind", "inputs", "attributes", "said"),
    [
        ("NoSuchThing", ["x"], {}, "NoSuchThing"),
        ("Det", ["x"], {}, "the operator Det is not supported (write it by others"),
        ("Hardmax", ["x"], {"axis": 2}, "expected an axis from -2 to 1, found 2"),
        ("Mod", ["x", "x"], {}, "expected fmod=1 for floating-point numbers"),
        ("Compress", ["x", "x"], {}, "Compress"),
        ("NonZero", ["x"], {}, "shape depends on values"),
        ("QuantizeLinear", ["x", "five"], {}, "expected one or 3 numbers, found the shape [5]"),
        ("Relu", ["x"], {"alpha": 1.0}, "alpha"),
        ("LeakyRelu", ["x"], {"alpha": 1}, "alpha"),
        ("Relu", [], {}, "Relu"),
        ("Relu", ["x", "x"], {}, "Relu"),
        ("Reshape", ["x", "k"], {}, "expected a shape of 6 elements"),
        ("Reshape", ["x", "x"], {}, "known from constants"),
        ("Transpose", ["x"], {"perm": [0, 5]}, "expected an axis from -2 to 1, found 5"),
        ("Concat", ["x", "x"], {"axis": 7}, "expected an axis"),
        ("MatMul", ["x", "x"], {}, "equal inner extents"),
        ("Add", ["x", "k"], {}, "equal types"),
        ("Add", ["x", "five"], {}, "broadcast"),
        ("Conv", ["x", "x"], {}, "one or two dimensions"),
        ("Softmax", ["x"], {"axis": 2}, "expected an axis"),
        ("Gather", ["x", "k"], {"axis": 0}, "indices below 2"),
        ("Squeeze", ["x", "k"], {}, "axis"),
    ],
)
def test_nodes_that_make_no_sense(
    kind: str, inputs: list[str], attributes: Any, said: str, tmp_path: Path
) -> None:
    node = helper.make_node(kind, inputs, ["y"], "here", **attributes)
    weights = {"k": np.array([7], np.int64), "s": numbers(1), "five": numbers(5)}
    text = refusal(one(tmp_path / "m.onnx", node, weights=weights))
    assert said in text
    assert f"node 0 ({kind}, here)" in text


def branch(kind: str, name: str = "z") -> Any:
    """Return a graph of one node of x and a weight of its own, which lie around it and in it."""
    return helper.make_graph(
        [helper.make_node(kind, ["x", "own"], [name])],
        "branch",
        [],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 3))],
        [onnx.numpy_helper.from_array(numbers(3), "own")],
    )


@pytest.mark.parametrize("choice", [True, False])
def test_conditions_that_are_known(choice: bool, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Neg", ["i"], ["x"]),
        helper.make_node(
            "If", ["c"], ["z"], then_branch=branch("Add"), else_branch=branch("Sub", "other")
        ),
        helper.make_node("Relu", ["z"], ["y"]),
    ]
    weights = {"c": np.array(choice)}
    path = save(tmp_path / "m.onnx", nodes, {"i": (2, 3)}, weights=weights)
    heads = [term.head for term in read(path).graph.nodes()]
    assert heads == ["input", "neg", "weight", "add" if choice else "sub", "relu"]


def test_control_flow_is_refused(tmp_path: Path) -> None:
    node = helper.make_node(
        "If", ["c"], ["y"], "if", then_branch=branch("Add"), else_branch=branch("NoSuchThing")
    )
    path = tmp_path / "m.onnx"
    several = {"c": np.array([True, False])}
    assert "node 0 (If, if): expected one condition" in refusal(one(path, node, weights=several))
    assert "NoSuchThing" in refusal(one(path, node, weights={"c": np.array(False)}))
    condition = helper.make_node("Cast", ["x"], ["c"], to=TensorProto.INT64)
    assert "control flow" in refusal(one(path, condition, node))
    loop = helper.make_node("Loop", ["n", "c"], ["y"], "loop", body=branch("Add"))
    weights = {"n": np.array(3), "c": np.array(True)}
    assert "node 0 (Loop, loop)" in refusal(one(path, loop, weights=weights))


def test_other_domains_and_versions(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    node = helper.make_node("FusedMatMul", ["x", "x"], ["y"], "own", domain="com.microsoft")
    text = refusal(one(path, node, opsets=[helper.make_opsetid("com.microsoft", 1)]))
    assert "node 0 (FusedMatMul, own)" in text
    assert "domain com.microsoft" in text
    relu = helper.make_node("Relu", ["x"], ["y"])
    for opset in (5, 99):
        text = refusal(one(path, relu, opset=opset))
        assert f"found opset {opset}" in text
        assert "version_converter" in text
    model = onnx.load(one(path, relu))
    del model.opset_import[:]
    path.write_bytes(model.SerializeToString())
    assert "found none" in refusal(path)


def test_functions_of_the_file_are_put_in_place(tmp_path: Path) -> None:
    function = helper.make_function(
        "own",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 17)],
    )
    node = helper.make_node("Twice", ["x"], ["y"], domain="own")
    opsets = [helper.make_opsetid("own", 1)]
    path = one(tmp_path / "m.onnx", node, opsets=opsets, functions=[function])
    assert [term.head for term in read(path).graph.nodes()] == ["input", "ewadd"]


def test_constants_that_would_be_huge(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    huge = {"n": np.array([1 << 20, 1 << 20], np.int64), "big": np.array(1 << 50, np.int64)}
    huge |= {"zero": np.array(0, np.int64), "one": np.array(1, np.int64), "u": numbers(1, 1)}
    huge |= {"tall": numbers(1 << 16, 1), "wide": numbers(1, 1 << 16)}
    for node in (
        helper.make_node("ConstantOfShape", ["n"], ["c"]),
        helper.make_node("Range", ["zero", "big", "one"], ["c"]),
        helper.make_node("Expand", ["u", "n"], ["c"]),
        helper.make_node("Tile", ["u", "n"], ["c"]),
        helper.make_node("Add", ["tall", "wide"], ["c"]),
    ):
        last = helper.make_node("Add", ["x", "c"], ["y"])
        text = refusal(one(path, node, last, weights=huge))
        assert f"node 0 ({node.op_type}" in text
        assert "at most" in text


@pytest.mark.parametrize(
    ("kind", "constants", "attributes"),
    [
        ("Resize", ["", "", "large"], {}),
        ("Resize", ["", "scales"], {}),
        ("Conv", ["w"], {"dilations": [1 << 40, 1]}),
        ("ConvTranspose", ["w"], {"dilations": [1 << 40, 1]}),
        ("LRN", [], {"size": 1 << 40}),
        ("Pad", ["pads"], {"mode": "edge"}),
        ("MaxPool", [], {"kernel_shape": [1 << 20, 1 << 20], "dilations": [2, 2]}),
    ],
)
def test_a_few_numbers_ask_for_much(
    kind: str, constants: list[str], attributes: Any, tmp_path: Path
) -> None:
    weights = {
        "large": np.array([1, 2, 1 << 40, 4], np.int64),
        "scales": np.array([1, 1, 1e30, 1], np.float32),
        "w": numbers(2, 2, 3, 3),
        "pads": np.array([0, 0, 1 << 40, 0, 0, 0, 0, 0], np.int64),
        "small": np.array([0, 0, 1, 0, 0, 0, 0, 0], np.int64),
        "infinity": np.array(-np.inf, np.float32),
    }
    node = helper.make_node(kind, ["x", *constants], ["y"], "here", **attributes)
    path = save(tmp_path / "m.onnx", [node], {"x": (1, 2, 4, 4)}, weights=weights, opset=18)
    assert f"node 0 ({kind}, here): expected" in refusal(path)


def test_tensors_that_are_not_all_there(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    one(path, helper.make_node("Add", ["x", "w"], ["y"]), weights={"w": numbers(2, 3)})
    model = onnx.load(path)
    tensor = model.graph.initializer[0]
    for change in ("dims", "data", "type", "negative", "text"):
        broken = onnx.ModelProto()
        broken.CopyFrom(model)
        tensor = broken.graph.initializer[0]
        if change == "dims":
            tensor.dims[0] = 1 << 40
        elif change == "data":
            tensor.raw_data = tensor.raw_data[:-1]
        elif change == "type":
            tensor.data_type = 77
        elif change == "negative":
            tensor.dims[0] = -2
        else:
            tensor.data_type = TensorProto.STRING
        path.write_bytes(broken.SerializeToString())
        assert "tensor w" in refusal(path)


def test_weights_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    one(path, helper.make_node("Add", ["x", "w"], ["y"]), weights={"w": numbers(3)})
    model = onnx.load(path)
    model.graph.initializer.append(model.graph.initializer[0])
    path.write_bytes(model.SerializeToString())
    assert "found 2 named 'w'" in refusal(path)
    model.graph.initializer.pop()
    values, places = (onnx.numpy_helper.from_array(v) for v in (numbers(1), np.array([0])))
    sparse = helper.make_sparse_tensor(values, places, [3])
    sparse.values.name = "s"
    model.graph.sparse_initializer.append(sparse)
    path.write_bytes(model.SerializeToString())
    assert "found the sparse s" in refusal(path)


def test_names_are_shown_as_what_they_are(tmp_path: Path) -> None:
    node = helper.make_node("Det", ["x"], ["y"], "\x1b[31mred\nline")
    assert "\\x1b[31mred\\nline" in refusal(one(tmp_path / "m.onnx", node))


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InputError, match=r"pip install 'polygym\[graphs\]'"):
        read(tmp_path / "m.onnx")
