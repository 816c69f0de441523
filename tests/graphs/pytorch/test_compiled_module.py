"""Modules of PyTorch are compiled, called in their place, and compared; others are refused."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")

import torch
from torch import nn

import polygym.graphs
from polygym.errors import InputError
from polygym.graphs.pytorch.structure import structure_of


def compiled(module: nn.Module, inputs: Any, keywords: Any = None, **options: Any) -> Any:
    return polygym.graphs.compile(module.eval(), inputs, keywords, costs="static", **options)


def expect_same(module: nn.Module, fast: Any, *arguments: Any, **keywords: Any) -> None:
    """Compare structures and tensors."""
    with torch.no_grad():
        expected, tensors = structure_of(module(*arguments, **keywords), "y")
    found, made = structure_of(fast(*arguments, **keywords), "y")
    assert found == expected
    for one, other in zip(tensors, made, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-5)


class Pair(NamedTuple):
    """A result of two tensors."""

    first: Any
    second: Any


class Nested(nn.Module):
    """Arguments and results of all structures."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x, state, *rest, scale=1.0, flag=None, mask=None):
        y = torch.relu(self.layer(x)) * scale + state["bias"][0]
        for other in rest:
            y = y + other
        if mask is not None:
            y = y * mask
        pair = Pair(y, state["bias"][1])
        return OrderedDict(y=y, pair=pair, again=[x, y], none=None, text="a", number=len(rest))


X = torch.linspace(-1, 1, 24).reshape(4, 6)
STATE = {"bias": (torch.ones(6), torch.arange(6.0))}


def test_structures_come_back() -> None:
    module = Nested().eval()
    fast = compiled(module, (X, STATE, X, X), {"scale": 2.0, "mask": torch.ones(4, 1)})
    expect_same(module, fast, X, STATE, X, 3 * X, scale=2.0, mask=torch.zeros(4, 1))
    result = fast(X, STATE, X, X, scale=2.0, mask=torch.ones(4, 1))
    assert isinstance(result, OrderedDict)
    assert isinstance(result["pair"], Pair)
    assert (result["none"], result["text"], result["number"]) == (None, "a", 2)
    assert [part.name for part in fast.graph.signatures] == [
        "x", "state.bias.0", "state.bias.1", "rest.0", "rest.1", "mask",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((X,), {}, r"Nested: expected arguments of forward\(x, state, .*missing"),
        ((X, STATE), {"scal": 2.0}, "expected arguments of forward.*unknown|unexpected"),
        ((X, STATE, X), {}, r"expected the arguments of the example .*, found .*rest\.0"),
        ((X, STATE["bias"]), {}, "expected the arguments of the example"),
        ((X, STATE), {"scale": 3.0}, "scale: expected 2.0 as in the example, found 3.0"),
        ((X, STATE), {"scale": 2}, "scale: expected 2.0 as in the example, found 2:"),
        ((X.double(), STATE), {}, "x: expected torch.float32, found torch.float64"),
        ((X[:3], STATE), {}, r"x: expected shape \(4, 6\), found \(3, 6\)"),
        ((1.5, STATE), {}, "x: expected a tensor, found float"),
        ((X.to("meta"), STATE), {}, "x: expected a tensor of the CPU, found one of meta"),
    ],
)
def test_other_arguments_are_refused(arguments: Any, keywords: Any, message: str) -> None:
    keywords = {"scale": 2.0, **keywords}
    with pytest.raises(InputError, match=message):
        NESTED(*arguments, **keywords)


NESTED: Any = None


@pytest.fixture(autouse=True, scope="module")
def _nested() -> None:
    global NESTED
    NESTED = compiled(Nested(), (X, STATE), {"scale": 2.0})


def test_a_tensor_alone_and_gradients() -> None:
    """A single tensor needs no tuple; a tensor that wants gradients is taken, and gives none."""
    module = nn.Sequential(nn.Linear(6, 3), nn.Tanh(), nn.Linear(3, 2)).eval()
    fast = compiled(module, X)
    expect_same(module, fast, X)
    result = fast(X.clone().requires_grad_())
    assert not result.requires_grad
    expect_same(module, fast, X.t().contiguous().t())
    assert fast.report["error"] < 1e-5
    assert "Sequential(input: [4, 6])" in repr(fast)


def test_the_optimised_graph_is_what_runs() -> None:
    """Two products of one tensor become cheaper, and run."""

    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = (nn.Linear(64, 64, bias=False) for _ in range(2))

        def forward(self, x):
            return torch.relu(self.a(x)), torch.relu(self.b(x))

    module, x = Two().eval(), torch.ones(8, 64)
    fast = compiled(module, x)
    assert fast.result.is_changed
    assert fast.result.cost < fast.result.initial_cost
    assert fast.graph is fast.result.after
    expect_same(module, fast, x)


def test_a_saved_module_is_loaded_without_torch(tmp_path: Path) -> None:
    NESTED.save(tmp_path / "fast")
    assert (tmp_path / "fast" / "graphs.svg").read_text().startswith("<svg")
    again = polygym.graphs.load(tmp_path / "fast")
    assert again.graph.name == "Nested"
    found = again(X.numpy(), *(part.numpy() for part in STATE["bias"]))
    expected = NESTED(X, STATE, scale=2.0)
    torch.testing.assert_close(torch.from_numpy(found[0]), expected["y"])


class Branching(nn.Module):
    """A decision by a value."""

    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1


def test_a_decision_by_values_is_found() -> None:
    with pytest.raises(InputError, match="decides by values of tensors"):
        compiled(Branching(), torch.ones(3))
    fast = compiled(Branching(), torch.ones(3), compare=False)
    torch.testing.assert_close(fast(torch.ones(3)), torch.full((3,), 2.0))


def test_a_decision_by_shapes_is_none() -> None:
    class Shapes(nn.Module):
        def forward(self, x):
            return x + 1 if x.shape[0] == 3 and bool(torch.tensor(x.shape[0]) > 2) else x

    expect_same(Shapes(), compiled(Shapes(), torch.ones(3)), torch.zeros(3))


class Wrong(nn.Module):
    """Something else at every call."""

    def forward(self, x):
        self.calls = getattr(self, "calls", 0) + 1
        return x * self.calls


def test_other_results_than_the_module_s_are_refused() -> None:
    with pytest.raises(InputError, match=r"Wrong: y: expected the module's numbers up to 0\.0001"):
        compiled(Wrong(), X)
    assert compiled(Wrong(), X, compare=False)(X).shape == X.shape


def test_training_is_refused() -> None:
    module = nn.Sequential(nn.Linear(6, 6), nn.Dropout()).eval()
    module[1].train()
    with pytest.raises(InputError, match=r"for inference, found 1 in training mode: call \.eval"):
        polygym.graphs.compile(module, X)
    with pytest.raises(InputError, match="found Linear in training mode"):
        polygym.graphs.compile(nn.Linear(6, 6), X)


def test_what_is_no_module_or_no_graph() -> None:
    with pytest.raises(InputError, match=r"expected a torch\.nn\.Module, found function"):
        polygym.graphs.compile(lambda x: x, X)
    with pytest.raises(InputError, match="costs: expected static or measured, found 'fast'"):
        polygym.graphs.compile(nn.Linear(6, 6).eval(), X, costs="fast")

    class Inverse(nn.Module):
        def forward(self, x):
            return torch.linalg.eigvalsh(x @ x.T)

    with pytest.raises(InputError, match=r"that PyTorch writes as ONNX, found none.*onnxscript"):
        compiled(Inverse(), X)

    class Nothing(nn.Module):
        def forward(self, x):
            return 3

    with pytest.raises(InputError, match="expected tensors as results, found int"):
        compiled(Nothing(), X)


def test_attention_in_both_forms(capfd: pytest.CaptureFixture[str]) -> None:
    """Whole layers of PyTorch run fused kernels, which are no operators of ONNX."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x = torch.linspace(-1, 1, 48).reshape(2, 3, 8)
    expect_same(layer, compiled(layer, x), x)
    assert torch.backends.mha.get_fastpath_enabled()

    class Causal(nn.Module):
        def forward(self, q):
            return nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)

    expect_same(Causal(), compiled(Causal(), x), x)
    assert capfd.readouterr().out == ""


def test_differences_are_written_out() -> None:
    class Differences(nn.Module):
        def forward(self, x):
            return x.diff(dim=0, prepend=x[:1]), torch.diff(x, n=2)

    expect_same(Differences(), compiled(Differences(), X), -X)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_convolution_with_batch_norm(threads: int) -> None:
    module = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()).eval()
    module[1].running_mean.normal_(generator=torch.Generator().manual_seed(0))
    image = torch.linspace(-1, 1, 3 * 64).reshape(1, 3, 8, 8)
    expect_same(module, compiled(module, image, threads=threads), -image)
