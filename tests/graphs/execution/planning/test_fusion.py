"""One kernel or two: by the clock where it has spoken, with equal results either way."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.graphs.execution import compile_model
from polygym.graphs.execution.lowering.graph_lowering import lower_graph
from polygym.graphs.execution.planning.fusion import (
    FusionChoice,
    FusionTimes,
    fusion_choices,
    fusion_times,
)
from polygym.graphs.execution.planning.kernel_variants import (
    DEFAULT_VARIANT,
    VARIANTS,
    KernelSource,
    KernelVariants,
)
from polygym.graphs.execution.timing.kernel_tuning import tune_model, tuned_fusions
from polygym.graphs.ir.build import binary, conv, graph_input, make_node, matmul, relu, tanh, weight
from polygym.graphs.ir.graph import Model, random_inputs
from polygym.rewrite.term import Term
from polygym.tc.measured_times import MeasuredTimes
from tests.graphs.execution.cases import model_of

X = graph_input("x", 7, 33)
IMAGE = graph_input("image", 1, 6, 9, 9)
PRODUCT = matmul(X, weight("w", 33, 20))
OTHER = matmul(X, weight("v", 33, 20))
CASES: dict[str, Term] = {
    "matmul": relu(binary("add", PRODUCT, weight("bias", 20))),
    "conv": tanh(relu(conv(IMAGE, weight("k", 16, 6, 3, 3)))),
    "softmax": binary("mul", make_node("softmax", 1, X), X),
    "two products": binary("add", PRODUCT, OTHER),
}


def all_choices(model: Model) -> list[FusionChoice]:
    return fusion_choices(lower_graph(model.graph, model.weights))


def answering(model: Model, together: float, alone: float, rest: float) -> KernelVariants:
    """Return times by which all choices of a model are alike."""
    store = MeasuredTimes(None, 1)
    for choice in all_choices(model):
        for text, seconds in zip(choice.texts, (together, alone, rest), strict=True):
            store.put(KernelVariants.key(DEFAULT_VARIANT, text), seconds)
    return KernelVariants(store)


@pytest.mark.parametrize("name", CASES)
def test_the_clock_decides(name: str) -> None:
    model = model_of(CASES[name])
    given = random_inputs(model.graph)
    compiled_model = compile_model(model, forms=answering(model, 2.0, 1.5, 0.5))
    two = compile_model(model, forms=answering(model, 2.1, 1.5, 0.5))
    assert len(two.steps) == len(compiled_model.steps) + 1
    np.testing.assert_allclose(two(*given), compiled_model(*given), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("missing", range(3))
def test_what_was_not_timed_is_expected(missing: int) -> None:
    model = model_of(CASES["matmul"])
    (choice,) = all_choices(model)
    forms = answering(model, 9.0, 1.0, 1.0)
    assert fusion_times(choice, forms) == FusionTimes(9.0, 1.0, 1.0)
    forms.store.put(KernelVariants.key(DEFAULT_VARIANT, choice.texts[missing]), None)
    assert fusion_times(choice, forms) is None
    assert choice.expected
    assert [description.label for description in compile_model(model, forms=forms).steps] == [
        "matmul+add+relu"
    ]


def test_each_kernel_counts_in_its_fastest_form() -> None:
    model = model_of(CASES["matmul"])
    forms = answering(model, 1.9, 1.5, 0.5)
    (choice,) = all_choices(model)
    forms.store.put(KernelVariants.key(VARIANTS[2], choice.texts[1]), 1.0)
    times = fusion_times(choice, forms)
    assert times is not None
    assert (times, times.is_faster_fused) == (FusionTimes(1.9, 1.0, 0.5), False)


def test_of_two_products_either_may_be_where_their_sum_is() -> None:
    """The second one is asked first; where it is apart, the first one is asked."""
    model = model_of(CASES["two products"])
    choices = all_choices(model)
    assert [fusion_choice.fused.label for fusion_choice in choices] == ["matmul+add", "matmul+add"]
    assert choices[0].unfused_head.root is not choices[1].unfused_head.root
    store = MeasuredTimes(None, 1)
    for choice, together in zip(choices, (3.0, 1.0), strict=True):
        for text, seconds in zip(choice.texts, (together, 1.0, 1.0), strict=True):
            store.put(KernelVariants.key(DEFAULT_VARIANT, text), seconds)
    made = compile_model(model, forms=KernelVariants(store))
    assert [description.label for description in made.steps] in (
        ["matmul", "matmul+add"],
        ["matmul+add"],
    )


def test_what_is_alike_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four layers, all alike but the first, which reads an input of another shape."""
    x: Term = X
    for place in range(4):
        x = tanh(relu(matmul(x, weight(f"w{place}", 33 if place == 0 else 20, 20))))
    model = model_of(x)
    forms = answering(model, 9.0, 1.0, 1.0)
    asked: list[FusionChoice] = []

    def counted(choice: FusionChoice, forms: KernelVariants) -> FusionTimes | None:
        asked.append(choice)
        return fusion_times(choice, forms)

    monkeypatch.setattr("polygym.graphs.execution.planning.fusion.fusion_times", counted)
    labels = [description.label for description in compile_model(model, forms=forms).steps]
    assert labels == ["matmul", "relu+tanh"] * 4
    assert len(asked) == 2
    assert len({choice.texts for choice in asked}) == 2


def test_tuning_times_one_kernel_and_two(monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds(recipe: KernelSource, worker: object) -> float:
        return 1.0 if "?" in recipe.text else 0.4  # relu costs more than the product

    monkeypatch.setattr("polygym.graphs.execution.timing.kernel_tuning.kernel_seconds", seconds)
    model = model_of(relu(PRODUCT))
    forms = KernelVariants(MeasuredTimes(None, 1))
    assert tuned_fusions(model, forms) == []
    kernels = tune_model(model, forms, 1, worker=object())  # type: ignore[arg-type]
    (choice,) = tuned_fusions(model, forms)
    assert (choice.label, choice.expected, choice.times) == (
        "matmul+relu",
        True,
        FusionTimes(1.0, 0.4, 1.0),
    )
    assert [(kernel.step.label, kernel.count) for kernel in kernels] == [("matmul+relu", 1)]
    for text in all_choices(model)[0].texts[2:]:
        forms.store.put(KernelVariants.key(DEFAULT_VARIANT, text), 0.1)
    kernels = tune_model(model, forms, 1, worker=object())  # type: ignore[arg-type]
    assert [(tuned_kernel.step.label, tuned_kernel.count) for tuned_kernel in kernels] == [
        ("matmul", 1)
    ]
    assert not tuned_fusions(model, forms)[0].times.is_faster_fused
