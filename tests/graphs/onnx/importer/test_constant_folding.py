"""Shapes and constants come down to arrays; layer norm and gelu are found again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper

from polygym.errors import InputError
from polygym.graphs.onnx import read
from tests.graphs.onnx.sessions import assert_same, numbers, save


def integers(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


def heads(path: Path) -> list[str]:
    """Return the operators of what is read, without inputs and weights."""
    result = (str(term.head) for term in read(path).graph.nodes())
    return [head for head in result if head not in ("input", "weight")]


def test_chains_of_shapes(tmp_path: Path) -> None:
    """Half of the channels, however many there are: all of it is known."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "one"], ["channels"], axis=0),
        helper.make_node("Cast", ["channels"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Div", ["real", "two"], ["half"]),
        helper.make_node("Floor", ["half"], ["whole"]),
        helper.make_node("Cast", ["whole"], ["count"], to=TensorProto.INT64),
        helper.make_node("Unsqueeze", ["count", "zero"], ["end"]),
        helper.make_node("Slice", ["x", "zero", "end", "ones"], ["part"]),
        helper.make_node("Shape", ["part"], ["again"], start=1),
        helper.make_node("Concat", ["batch", "again"], ["all"], axis=0),
        helper.make_node(
            "ConstantOfShape",
            ["all"],
            ["filled"],
            value=helper.make_tensor("value", TensorProto.FLOAT, (1,), [3.0]),
        ),
        helper.make_node("Equal", ["again", "again"], ["same"]),
        helper.make_node("Where", ["same", "again", "minus"], ["last"]),
        helper.make_node("Concat", ["minus", "last"], ["target"], axis=0),
        helper.make_node("Add", ["part", "filled"], ["sum"]),
        helper.make_node("Reshape", ["sum", "target"], ["y"]),
    ]
    weights = {"one": np.array(1), "two": np.array(2, np.float32), "zero": integers(0)}
    weights |= {"ones": integers(1), "batch": integers(1), "minus": integers(-1)}
    path = save(tmp_path / "m.onnx", nodes, {"x": (2, 6, 4)}, weights=weights)
    assert_same(path, [numbers(2, 6, 4)])
    assert heads(path) == ["slice", "add"]


def test_constants_of_every_form(tmp_path: Path) -> None:
    tensor = numpy_helper.from_array(numbers(3), "t")
    forms: dict[str, Any] = {"value": tensor, "value_float": 1.5, "value_floats": [1.0, 2.0, 3.0]}
    for name, value in forms.items():
        nodes = [
            helper.make_node("Constant", [], ["c"], **{name: value}),
            helper.make_node("Add", ["x", "c"], ["y"]),
        ]
        assert_same(save(tmp_path / "m.onnx", nodes, {"x": (2, 3)}), [numbers(2, 3)])
    for name, value in {"value_int": 6, "value_ints": [6]}.items():
        nodes = [
            helper.make_node("Constant", [], ["c"], **{name: value}),
            helper.make_node("Reshape", ["c", "one"], ["s"]),
            helper.make_node("Reshape", ["x", "s"], ["y"]),
        ]
        weights = {"one": integers(1)}
        path = save(tmp_path / "m.onnx", nodes, {"x": (2, 3)}, weights=weights)
        assert_same(path, [numbers(2, 3)])
    nodes[0] = helper.make_node("Constant", [], ["c"], value_string="text")
    path = save(tmp_path / "m.onnx", nodes, {"x": (2, 3)}, weights=weights)
    with pytest.raises(InputError, match=r"node 0 \(Constant.*expected one tensor or number"):
        read(path)


def test_tables_of_waves(tmp_path: Path) -> None:
    """Angles of places times frequencies: sines that are known, though no graph has them."""
    nodes = [
        helper.make_node("Range", ["start", "end", "step"], ["places"]),
        helper.make_node("Unsqueeze", ["places", "one"], ["column"]),
        helper.make_node("MatMul", ["column", "frequencies"], ["product"]),
        helper.make_node("Einsum", ["product", "ones"], ["angles"], equation="ij,j->ij"),
        helper.make_node("Sin", ["angles"], ["sines"]),
        helper.make_node("Cos", ["angles"], ["cosines"]),
        helper.make_node("Mul", ["x", "sines"], ["p"]),
        helper.make_node("Sub", ["p", "cosines"], ["y"]),
    ]
    names = {"start": 0, "end": 5, "step": 1}
    weights = {name: np.array(value, np.float32) for name, value in names.items()}
    weights |= {"one": integers(1), "frequencies": numbers(1, 4)}
    weights |= {"ones": np.ones(4, np.float32)}
    path = save(tmp_path / "m.onnx", nodes, {"x": (5, 4)}, weights=weights)
    assert_same(path, [numbers(5, 4)])
    assert heads(path) == ["ewmul", "sub"]


def test_running_sums_along_a_list_of_one_axis(tmp_path: Path) -> None:
    """So the exporter of PyTorch writes what ``diagonal`` needs."""
    nodes = [
        helper.make_node("CumSum", ["ones", "axis"], ["sums"]),
        helper.make_node("Mul", ["x", "sums"], ["y"]),
    ]
    weights = {"ones": np.ones((2, 3), np.float32), "axis": integers(1)}
    path = save(tmp_path / "m.onnx", nodes, {"x": (2, 3)}, weights=weights)
    assert_same(path, [numbers(2, 3)])
    assert heads(path) == ["ewmul"]


def test_results_that_are_constants(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT),
        helper.make_node("EyeLike", ["x"], ["z"]),
    ]
    path = save(tmp_path / "m.onnx", nodes, {"x": (2, 3)}, ["y", "z"])
    assert_same(path, [numbers(2, 3)])


def test_parts_that_constants_are_split_into(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Split", ["w", "sizes"], ["", "b"], axis=1),
        helper.make_node("Add", ["x", "b"], ["y"]),
    ]
    weights = {"w": numbers(2, 5), "sizes": integers(2, 3)}
    path = save(tmp_path / "m.onnx", nodes, {"x": (2, 3)}, weights=weights)
    model = read(path)
    np.testing.assert_array_equal(next(iter(model.weights.values())), weights["w"][:, 2:])


def test_arithmetic_that_is_none(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Div", ["one", "zero"], ["c"]),
        helper.make_node("Reshape", ["x", "c"], ["y"]),
    ]
    weights = {"one": integers(1), "zero": integers(0)}
    path = save(tmp_path / "m.onnx", nodes, {"x": (2, 3)}, weights=weights)
    with pytest.raises(InputError, match=r"node 1 \(Reshape"):
        read(path)


def layer_norm(root: str, mean_first: bool = False) -> list[Any]:
    """Return layer norm in parts, as exporters before opset 17 write it."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], axes=[-1], keepdims=1),
        helper.make_node("Sub", ["x", "m"], ["d"]),
        helper.make_node("Pow", ["d", "two"], ["s"]),
        helper.make_node("ReduceMean", ["s"], ["v"], axes=[-1], keepdims=1),
        helper.make_node("Add", ["eps", "v"] if mean_first else ["v", "eps"], ["e"]),
        helper.make_node("Sqrt", ["e"], ["r"]),
    ]
    if root == "Div":
        nodes.append(helper.make_node("Div", ["d", "r"], ["n"]))
    else:
        nodes.append(helper.make_node("Reciprocal", ["r"], ["q"]))
        nodes.append(helper.make_node("Mul", ["q", "d"], ["n"]))
    return nodes


@pytest.mark.parametrize("root", ["Div", "Reciprocal"])
@pytest.mark.parametrize("scaled", [False, True])
def test_layer_norm_is_found(root: str, scaled: bool, tmp_path: Path) -> None:
    nodes = layer_norm(root, scaled)
    if scaled:
        nodes.append(helper.make_node("Mul", ["g", "n"], ["a"]))
        nodes.append(helper.make_node("Add", ["a", "b"], ["y"]))
    else:
        nodes.append(helper.make_node("Identity", ["n"], ["y"]))
    weights = {"two": np.array(2, np.float32), "eps": np.array(1e-5, np.float32)}
    weights |= {"g": numbers(4), "b": numbers(4, seed=1)}
    path = save(tmp_path / "m.onnx", nodes, {"x": (2, 3, 4)}, weights=weights, opset=13)
    assert_same(path, [numbers(2, 3, 4)])
    assert heads(path) == ["layer-norm"]


def test_what_is_near_layer_norm_is_none(tmp_path: Path) -> None:
    """The mean along another axis, or of another tensor."""
    weights = {"two": np.array(2, np.float32), "eps": np.array(1e-5, np.float32)}
    for change in ("axis", "tensor", "power"):
        nodes = layer_norm("Div")
        if change == "axis":
            nodes[3] = helper.make_node("ReduceMean", ["s"], ["v"], axes=[1], keepdims=1)
        elif change == "tensor":
            nodes[0] = helper.make_node("ReduceMean", ["eps4"], ["m"], axes=[-1], keepdims=1)
        else:
            nodes[2] = helper.make_node("Pow", ["x", "two"], ["s"])
        nodes[-1].output[0] = "y"
        extra = {"eps4": numbers(2, 3, 4)}
        path = save(tmp_path / "m.onnx", nodes, {"x": (2, 3, 4)}, weights=weights | extra, opset=13)
        assert_same(path, [numbers(2, 3, 4)])
        assert "layer-norm" not in heads(path)


GELU = {
    "divided": [
        ("Div", "x", "root", "u"),
        ("Erf", "u", "", "e"),
        ("Add", "e", "one", "p"),
        ("Mul", "x", "p", "q"),
        ("Mul", "q", "half", "y"),
    ],
    "halved": [
        ("Mul", "x", "inverse", "u"),
        ("Erf", "u", "", "e"),
        ("Add", "one", "e", "p"),
        ("Mul", "half", "x", "q"),
        ("Mul", "p", "q", "y"),
    ],
    "inside": [
        ("Div", "x", "root", "u"),
        ("Erf", "u", "", "e"),
        ("Add", "e", "one", "p"),
        ("Mul", "p", "half", "q"),
        ("Mul", "q", "x", "y"),
    ],
    "tanh": [
        ("Mul", "x", "x", "s"),
        ("Mul", "s", "x", "c"),
        ("Mul", "c", "small", "k"),
        ("Add", "x", "k", "t"),
        ("Mul", "t", "slope", "u"),
        ("Tanh", "u", "", "e"),
        ("Add", "e", "one", "p"),
        ("Mul", "x", "p", "q"),
        ("Mul", "q", "half", "y"),
    ],
    "square": [
        ("Mul", "small", "x", "c"),
        ("Mul", "c", "x", "k"),
        ("Add", "k", "one", "t"),
        ("Mul", "slope", "x", "v"),
        ("Mul", "v", "t", "u"),
        ("Tanh", "u", "", "e"),
        ("Add", "one", "e", "p"),
        ("Mul", "half", "x", "q"),
        ("Mul", "q", "p", "y"),
    ],
}
NUMBERS = {"root": 2**0.5, "inverse": 0.5**0.5, "one": 1.0, "half": 0.5, "small": 0.044715}
NUMBERS |= {"slope": (2 / np.pi) ** 0.5}


def gelu(folder: Path, form: str, **changes: float) -> Path:
    nodes = [
        helper.make_node(kind, [key for key in (x, y) if key], [z]) for kind, x, y, z in GELU[form]
    ]
    values = {name: np.array(value, np.float32) for name, value in (NUMBERS | changes).items()}
    return save(folder / "m.onnx", nodes, {"x": (2, 3)}, weights=values)


@pytest.mark.parametrize("form", GELU)
def test_gelu_is_found(form: str, tmp_path: Path) -> None:
    path = gelu(tmp_path, form)
    assert_same(path, [numbers(2, 3)])
    assert heads(path) == ["gelu" if form in ("divided", "halved", "inside") else "gelu-tanh"]


@pytest.mark.parametrize("form", GELU)
@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_near_gelu_is_none(form: str, name: str, tmp_path: Path) -> None:
    path = gelu(tmp_path, form, **{name: NUMBERS[name] * 1.01})
    assert_same(path, [numbers(2, 3)])
    is_used = any(name in node[1:3] for node in GELU[form])
    assert (heads(path) in (["gelu"], ["gelu-tanh"])) != is_used


def test_batch_norm_goes_into_what_nothing_else_needs(tmp_path: Path) -> None:
    """Where the convolution is a result too, it must stay as it is."""
    four = {name: numbers(4, seed=seed, low=0.5) for seed, name in enumerate("sbmv")}
    weights = {"w": numbers(4, 3, 3, 3), **four}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("BatchNormalization", ["c", *"sbmv"], ["y"]),
    ]
    image = numbers(1, 3, 5, 5)
    path = save(tmp_path / "m.onnx", nodes, {"x": image.shape}, weights=weights)
    assert_same(path, [image])
    assert heads(path) == ["conv", "add"]
    path = save(tmp_path / "m.onnx", nodes, {"x": image.shape}, ["y", "c"], weights)
    assert_same(path, [image])
    assert heads(path) == ["conv", "mul", "add"]
    nodes[1] = helper.make_node("BatchNormalization", ["c", *"sbmv"], ["y"], training_mode=0)
    assert heads(save(tmp_path / "m.onnx", nodes, {"x": image.shape}, weights=weights))
    nodes[1] = helper.make_node(
        "BatchNormalization", ["c", *"sbmv"], ["y", "rm", "rv"], training_mode=1
    )
    path = save(tmp_path / "m.onnx", nodes, {"x": image.shape}, weights=weights)
    with pytest.raises(InputError, match=r"model\.eval"):
        read(path)


def test_elements_of_a_long_row_are_chosen(tmp_path: Path) -> None:
    """ONNX's reference chooses among 32 at most where there is one row; BERT has 512."""
    table = np.arange(512, dtype=np.float32)[None]
    weights = {"table": table, "places": np.array([[0, 511, -1, -512, 40]])}
    nodes = [
        helper.make_node("GatherElements", ["table", "places"], ["chosen"], axis=1),
        helper.make_node("Add", ["x", "chosen"], ["y"]),
    ]
    path = save(tmp_path / "m.onnx", nodes, {"x": (1, 5)}, weights=weights)
    model = assert_same(path, [numbers(1, 5)])
    assert heads(path) == ["ewadd"]
    (chosen,) = model.weights.values()
    np.testing.assert_array_equal(chosen, [[0, 511, 511, 0, 40]])
    weights["places"] = np.array([[512]])
    with pytest.raises(InputError, match="its constants cannot be computed: IndexError"):
        read(save(tmp_path / "m.onnx", nodes, {"x": (1, 1)}, weights=weights))
