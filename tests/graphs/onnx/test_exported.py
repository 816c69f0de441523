"""Models as PyTorch exports them come in, and leave again, computing the same."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from polygym.errors import InputError  # noqa: E402
from polygym.graphs.execution import compile_model  # noqa: E402
from polygym.graphs.onnx import read  # noqa: E402
from tests.graphs.onnx.networks.exporting import export, prepared  # noqa: E402
from tests.graphs.onnx.networks.images import Residual  # noqa: E402
from tests.graphs.onnx.networks.models import MODELS, example_for  # noqa: E402
from tests.graphs.onnx.networks.sequences import Masked, Words  # noqa: E402
from tests.graphs.onnx.sessions import assert_same  # noqa: E402

# What the graph of some must have in it: these were written as several operators in the file.
FOUND_AGAIN = {
    ("encoder-first", 13): {"gelu": 1, "layer-norm": 2, "softmax": 1, "matmul": 6},
    ("words", 13): {"gelu-tanh": 1, "layer-norm": 1, "gather": 1},
    ("residual", 17): {"conv": 2, "mul": 0, "add": 2, "ewadd": 1},
    ("mlp", 17): {"matmul": 2, "add": 2, "mul": 0},
    ("mobile", 17): {"conv": 5, "clip": 5},
}


LATER = ("causal", "encoder", "encoder-first", "vision", "padded", "turned")


@pytest.mark.rotates
@pytest.mark.parametrize("opset", [13, 17, 20])
@pytest.mark.parametrize("name", MODELS)
def test_models_compute_what_they_did(name: str, opset: int, tmp_path: Path) -> None:
    model, shape = MODELS[name]
    if name in LATER and opset == 13:
        opset = 14  # the first that has what attention needs
    example = example_for(name, shape)
    try:
        path = export(prepared(model), example, tmp_path / "model.onnx", opset)
    except torch.onnx.errors.UnsupportedOperatorError:
        pytest.skip("the exporter has no operator for this opset")
    imported = assert_same(path, [example.numpy()])
    expected = FOUND_AGAIN.get((name, 13 if opset == 14 else opset), {})
    heads = Counter(str(term.head) for term in imported.graph.nodes())
    assert {head: heads[head] for head in expected} == expected


@pytest.mark.parametrize("name", ["residual", "encoder", "words", "causal", "groups", "pools"])
@pytest.mark.parametrize("opset", [18, 23])
def test_the_other_exporter(name: str, opset: int, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    model, shape = MODELS[name]
    example, path = example_for(name, shape), tmp_path / "model.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            prepared(model), (example,), path, dynamo=True, opset_version=opset, verbose=False
        )
    assert_same(path, [example.numpy()])


def test_masks_that_are_given(tmp_path: Path) -> None:
    """Truth is computed of an input: which words are there."""
    x, mask = torch.randn(2, 5, 8), torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    path = tmp_path / "model.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(prepared(Masked()), (x, mask), path, dynamo=False, opset_version=17)
    assert_same(path, [x.numpy(), mask.numpy()])


def test_equal_weights_are_one(tmp_path: Path) -> None:
    """The table of words is the matrix of the last product, transposed, and stands there twice."""
    path = export(prepared(Words()), example_for("words", (2, 7)), tmp_path / "model.onnx", 17)
    model = read(path)
    shapes = Counter(signature.tensor.shape for signature in model.graph.weights)
    assert shapes[(20, 16)] == shapes[(16, 20)] == 1
    twice = nn.Linear(8, 8)
    both = nn.Sequential(twice, nn.ReLU(), twice)
    path = export(prepared(both), torch.randn(2, 8), tmp_path / "twice.onnx", 17)
    assert len(read(path).graph.weights) == 2


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_half_precision_stays(half: torch.dtype, tmp_path: Path) -> None:
    """Inputs and results, and the rounding after every operator."""
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).eval().to(half)
    example = torch.randn(3, 16).to(half)
    path = export(model, example, tmp_path / "model.onnx", 17)
    compiled = compile_model(read(path))
    assert compiled.inputs[0].tensor.dtype == str(half).removeprefix("torch.")
    result = compiled(example)
    assert result.dtype == half
    torch.testing.assert_close(result, model(example), rtol=2e-2, atol=2e-2)
    heads = Counter(str(term.head) for term in read(path).graph.nodes())
    assert heads["round-to"] >= 2


def test_a_conversion_to_half_precision_rounds(tmp_path: Path) -> None:
    class Rounds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(16, 8)

        def forward(self, x):
            return self.linear(x.half().float())

    example = torch.randn(3, 16) * 1000
    model = prepared(Rounds())
    path = export(model, example, tmp_path / "model.onnx", 17)
    result = compile_model(read(path))(example)
    torch.testing.assert_close(result, model(example).detach())
    assert not torch.allclose(result, model.linear(example).detach())


def test_double_precision_stays(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.LayerNorm(32)).double()
    example = torch.randn(3, 16).double()
    path = export(prepared(model, torch.float64), example, tmp_path / "model.onnx", 17)
    assert assert_same(path, [example.numpy()], 1e-9).graph.signatures[0].tensor.dtype == "float64"


def test_an_open_batch_is_said(tmp_path: Path) -> None:
    path = export(
        prepared(Residual()),
        torch.randn(2, 8, 9, 9),
        tmp_path / "model.onnx",
        17,
        input_names=["image"],
        dynamic_axes={"image": {0: "batch"}},
    )
    with pytest.raises(InputError, match=r"image.*dimension 0 \(batch\).*shapes={'image': \(1, 8"):
        read(path)
    assert read(path, {"image": (5, 8, 9, 9)}).graph.signatures[0].tensor.shape == (5, 8, 9, 9)


REFUSED = {
    "LSTM": (nn.LSTM(8, 8), (5000, 1, 8), "at most 4096 steps"),
}


@pytest.mark.parametrize("operator", REFUSED)
def test_what_is_not_there_is_named(operator: str, tmp_path: Path) -> None:
    model, shape, why = REFUSED[operator]
    path = export(prepared(model), torch.randn(shape), tmp_path / "model.onnx", 17)
    with pytest.raises(InputError, match=rf"node \d+ \({operator}, /.*{why}"):
        read(path)


@pytest.mark.parametrize("opset", [18, 23])
def test_files_of_the_other_exporter(opset: int, tmp_path: Path) -> None:
    """An encoder as ``dynamo=True`` writes it: with attention in parts, and as one operator."""
    path = tmp_path / "model.onnx"
    path.write_bytes((Path(__file__).parent / f"data/encoder-{opset}.onnx").read_bytes())
    torch.manual_seed(1)
    model = assert_same(path, [torch.randn(2, 5, 16).numpy()])
    heads = Counter(str(term.head) for term in model.graph.nodes())
    assert (heads["layer-norm"], heads["gelu"], heads["softmax"], heads["matmul"]) == (2, 1, 1, 6)
