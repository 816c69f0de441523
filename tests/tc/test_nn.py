"""Modules of comprehensions beside those of ``torch.nn`` with the same state."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from polygym.errors import InputError

torch = pytest.importorskip("torch")

from polygym.tc import define, nn  # noqa: E402
from polygym.tc.nn import operators  # noqa: E402

ROWS, IMAGES = (4, 3), (2, 4, 6, 5)
# The name of a module, its arguments, and shapes of inputs.
MODULES: tuple[tuple[str, dict[str, Any], tuple[tuple[int, ...], ...]], ...] = (
    ("Linear", {"in_features": 3, "out_features": 2}, (ROWS, (3,), (2, 2, 3))),
    ("Linear", {"in_features": 3, "out_features": 2, "bias": False}, (ROWS,)),
    ("Conv2d", {"in_channels": 4, "out_channels": 6, "kernel_size": 3}, (IMAGES, IMAGES[1:])),
    (
        "Conv2d",
        {"in_channels": 4, "out_channels": 6, "kernel_size": (3, 2), "stride": (2, 1)}
        | {"padding": (1, 2), "dilation": (1, 2), "groups": 2, "bias": False},
        (IMAGES,),
    ),
    ("Conv2d", {"in_channels": 4, "out_channels": 2, "kernel_size": (3, 1), "padding": "same"},
     (IMAGES,)),
    ("Conv2d", {"in_channels": 4, "out_channels": 2, "kernel_size": 3, "padding": 1}
     | {"padding_mode": "reflect"}, (IMAGES,)),
    ("Conv1d", {"in_channels": 4, "out_channels": 2, "kernel_size": 3, "stride": 2}
     | {"padding": 1, "padding_mode": "circular"}, ((2, 4, 7), (4, 7))),
    ("ConvTranspose2d", {"in_channels": 4, "out_channels": 2, "kernel_size": 3, "stride": 2}
     | {"padding": 1, "output_padding": 1, "groups": 2}, (IMAGES, IMAGES[1:])),
    ("LayerNorm", {"normalized_shape": (3,)}, (ROWS,)),
    ("LayerNorm", {"normalized_shape": (6, 5), "eps": 1e-3}, (IMAGES,)),
    ("LayerNorm", {"normalized_shape": (3,), "elementwise_affine": False}, (ROWS,)),
    ("GroupNorm", {"num_groups": 2, "num_channels": 4}, (IMAGES, (2, 4))),
    ("BatchNorm1d", {"num_features": 3}, (ROWS, (2, 3, 4))),
    ("BatchNorm2d", {"num_features": 4, "eps": 1e-3, "momentum": None}, (IMAGES,)),
    ("BatchNorm2d", {"num_features": 4, "affine": False, "track_running_stats": False},
     (IMAGES,)),
    ("Softmax", {"dim": 1}, (ROWS, IMAGES)),
    ("LogSoftmax", {"dim": 0}, (ROWS, (3,))),
    ("GELU", {}, (ROWS,)),
    ("GELU", {"approximate": "tanh"}, (IMAGES,)),
    ("ReLU", {}, (IMAGES,)),
    ("MaxPool2d", {"kernel_size": 3, "stride": 2, "padding": 1}, (IMAGES, IMAGES[1:])),
    ("AvgPool2d", {"kernel_size": (3, 2), "padding": 1, "count_include_pad": False}, (IMAGES,)),
    ("UpsamplingBilinear2d", {"scale_factor": 2}, (IMAGES,)),
    ("LSTMCell", {"input_size": 3, "hidden_size": 2}, (ROWS, (3,))),
    ("GRUCell", {"input_size": 3, "hidden_size": 2, "bias": False}, (ROWS, (3,))),
)  # fmt: skip


@pytest.fixture(autouse=True)
def compiled_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let operators run in the order of their texts, which are compiled soonest."""
    options = {"mapping": "sequential", "schedule": "original"}
    monkeypatch.setattr(operators, "define", partial(define, **options))
    monkeypatch.setattr(operators, "_OPERATORS", SimpleNamespace())


def both(name: str, options: dict[str, Any]) -> tuple[Any, Any]:
    """Return a module, and PyTorch's with the same state."""
    torch.manual_seed(1)
    module = getattr(nn, name)(**options).double()
    reference = getattr(torch.nn, name)(**options).double()
    reference.load_state_dict(module.state_dict())
    return module, reference


def results(module: Any, *inputs: Any) -> list[Any]:
    """Return results, gradients of inputs and parameters, and the state afterwards."""
    given = [i.clone().requires_grad_() if i.is_floating_point() else i for i in inputs]
    found = module(*given)
    found = [part for part in found if part is not None] if isinstance(found, tuple) else [found]
    total = sum((part * torch.arange(1.0, part.numel() + 1).view_as(part)).sum() for part in found)
    module = module.func if isinstance(module, partial) else module
    watched = [i for i in given if i.requires_grad] + list(module.parameters())
    gradients = torch.autograd.grad(total, watched)
    return [*found, *gradients, *module.state_dict().values()]


@pytest.mark.rotates
@pytest.mark.parametrize(("name", "options", "shapes"), MODULES, ids=lambda p: str(p)[:30])
def test_modules(name: str, options: dict[str, Any], shapes: tuple[tuple[int, ...], ...]) -> None:
    module, reference = both(name, options)
    assert repr(module) == repr(reference)
    for shape in shapes:
        given = torch.randn(shape, dtype=torch.double)
        for training in (True, False):
            found, expected = (results(m.train(training), given) for m in (module, reference))
            torch.testing.assert_close(found, expected)


def test_cells_with_states() -> None:
    rows, hidden, cell = (torch.randn(4, n, dtype=torch.double) for n in (3, 2, 2))
    lstm, reference = both("LSTMCell", {"input_size": 3, "hidden_size": 2})
    torch.testing.assert_close(lstm(rows, (hidden, cell)), reference(rows, (hidden, cell)))
    gru, reference = both("GRUCell", {"input_size": 3, "hidden_size": 2})
    torch.testing.assert_close(gru(rows, hidden), reference(rows, hidden))


def test_embeddings_and_losses() -> None:
    module, reference = both("Embedding", dict(num_embeddings=5, embedding_dim=3, padding_idx=1))
    places = torch.tensor([[0, 1, 1], [4, 4, 2]])
    torch.testing.assert_close(results(module, places), results(reference, places))
    loss, reference = both("CrossEntropyLoss", {"ignore_index": 2})
    for shape in ((3, 4), (2, 4, 3)):
        given = torch.randn(shape, dtype=torch.double)
        target = torch.randint(0, 4, (shape[0], *shape[2:]))
        torch.testing.assert_close(loss(given, target), reference(given, target))


HEADS = {"embed_dim": 4, "num_heads": 2}


@pytest.mark.parametrize(
    "options", [HEADS, HEADS | {"batch_first": True, "kdim": 3, "vdim": 5, "bias": False}]
)
def test_attention(options: dict[str, Any]) -> None:
    module, reference = both("MultiheadAttention", options)
    first = 0 if options.get("batch_first") else 1
    shapes = ((2, 3, 4), (2, 5, options.get("kdim", 4)), (2, 5, options.get("vdim", 4)))
    query, key, value = (
        torch.randn(shape, dtype=torch.double).transpose(0, first) for shape in shapes
    )
    hidden = torch.ones(3, 5).triu(2).bool()
    padding = torch.tensor([[False] * 5, [False] * 4 + [True]])
    for masks in ({}, {"attn_mask": hidden}, {"attn_mask": hidden, "key_padding_mask": padding}):
        found, expected = (
            results(partial(m, **masks), query, key, value) for m in (module, reference)
        )
        torch.testing.assert_close(found, expected)
    assert module(query, key, value, need_weights=False)[1] is None
    single = (
        query.transpose(0, first)[0],
        key.transpose(0, first)[0],
        value.transpose(0, first)[0],
    )
    options = {"average_attn_weights": False}
    torch.testing.assert_close(module(*single, **options), reference(*single, **options))


REFUSED: tuple[tuple[Callable[[], Any], str], ...] = (
    (lambda: nn.MaxPool2d(2, ceil_mode=True), "MaxPool2d: ceil_mode: expected False, found True"),
    (lambda: nn.AvgPool2d(2, divisor_override=3), "divisor_override: expected None"),
    (lambda: nn.Embedding(3, 2, sparse=True), "sparse"),
    (lambda: nn.MultiheadAttention(4, 2, dropout=0.1), "dropout: expected 0.0"),
    (lambda: nn.CrossEntropyLoss(reduction="sum"), "reduction: expected 'mean'"),
    (lambda: nn.ReLU(inplace=True)(torch.ones(2)), "inplace: expected False"),
    (lambda: nn.Linear(2, 2).half()(torch.ones(2, 2).half()), "float32 or float64"),
    (lambda: nn.LayerNorm(3)(torch.ones(2, 4)), "expected the last dimensions"),
    (lambda: nn.CrossEntropyLoss()(torch.ones(2, 3), torch.ones(2, 3)), "numbers of classes"),
)


@pytest.mark.parametrize(("call", "expected"), REFUSED)
def test_refusals(call: Callable[[], Any], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        call()


def network(package: Any) -> Any:
    """Return a small network of most modules."""
    return torch.nn.Sequential(
        package.Conv2d(1, 4, 3, padding=1),
        package.BatchNorm2d(4),
        package.ReLU(),
        package.MaxPool2d(2),
        package.Conv2d(4, 4, 3, stride=2, padding=1),
        package.GELU(),
        torch.nn.Flatten(),
        package.LayerNorm(16),
        package.Linear(16, 10),
    )


def losses(package: Any, steps: int, state: dict[str, Any] | None) -> tuple[list[float], Any]:
    """Return the losses of a training, and the state that it began with."""
    torch.manual_seed(2)
    model, loss = network(package).double(), package.CrossEntropyLoss()
    model.load_state_dict(state or model.state_dict())
    begun = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    images = torch.randn(8, 1, 8, 8, dtype=torch.double)
    targets = torch.randint(0, 10, (8,))
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(model(images), targets)
        value.backward()
        optimizer.step()
        found.append(value.item())
    return found, begun


def compare_trainings(steps: int) -> None:
    found, state = losses(nn, steps, None)
    expected, _ = losses(torch.nn, steps, state)
    assert found[-1] < found[0]
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_a_training() -> None:
    compare_trainings(5)


@pytest.mark.nightly
def test_a_long_training() -> None:
    compare_trainings(200)


def test_modules_under_tracers() -> None:
    """Operators that nothing has called before are defined while PyTorch traces."""
    torch.manual_seed(3)
    model, images = network(nn).eval(), torch.randn(2, 1, 8, 8)
    compiled = torch.compile(model, fullgraph=True, backend="eager")(images)
    torch.testing.assert_close(compiled, model(images))
    exported = torch.export.export(model, (images,))
    torch.testing.assert_close(exported.module()(images), model(images))


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4), (2, 3, 4, 2)])
@pytest.mark.filterwarnings("ignore:Implicit dimension")
def test_dimensions_by_default_are_those_of_torch(name: str, shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    torch.testing.assert_close(getattr(nn, name)()(x), getattr(torch.nn, name)()(x))


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "channels": (lambda: nn.GroupNorm(1, 4)(torch.ones(2, 1, 5)), "expected 4 channels"),
    "no channels": (lambda: nn.GroupNorm(1, 4)(torch.ones(4)), "expected 4 channels"),
    "classes": (
        lambda: nn.CrossEntropyLoss()(torch.ones(2, 5, 3), torch.zeros(3, 2, dtype=torch.int64)),
        r"expected the shape \[2, 3\]",
    ),
    "padding": (lambda: nn.MaxPool2d(2, padding=2), "expected at most half of the window"),
    "mean": (lambda: nn.AvgPool2d((4, 2), padding=(2, 2)), "found 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_shapes_that_torch_refuses(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        call()
