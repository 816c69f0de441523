"""One kernel or two: by the clock where it has spoken, with equal results either way."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.graphs.ir.build import binary, conv, entering, matmul, node, relu, tanh, weight
from polygym.graphs.ir.model import Model, random_inputs
from polygym.graphs.running import compile_model
from polygym.graphs.running.forms import FORMS, USUAL, Forms
from polygym.graphs.running.fusing import Choice, Times, choices, times_of
from polygym.graphs.running.kernels import Recipe
from polygym.graphs.running.lowering import traced
from polygym.graphs.running.tuned import tune, tuned_choices
from polygym.rewrite.term import Term
from polygym.tc.times import TimeStore
from tests.graphs.running.cases import model_of

X = entering("x", 7, 33)
IMAGE = entering("image", 1, 6, 9, 9)
PRODUCT = matmul(X, weight("w", 33, 20))
OTHER = matmul(X, weight("v", 33, 20))
CASES: dict[str, Term] = {
    "matmul": relu(binary("add", PRODUCT, weight("bias", 20))),
    "conv": tanh(relu(conv(IMAGE, weight("k", 16, 6, 3, 3)))),
    "softmax": binary("mul", node("softmax", 1, X), X),
    "two products": binary("add", PRODUCT, OTHER),
}


def all_choices(model: Model) -> list[Choice]:
    return choices(traced(model.graph, model.weights))


def answering(model: Model, together: float, alone: float, rest: float) -> Forms:
    """Return times by which all choices of a model are alike."""
    store = TimeStore(None, 1)
    for choice in all_choices(model):
        for text, seconds in zip(choice.texts, (together, alone, rest), strict=True):
            store.put(Forms.key(USUAL, text), seconds)
    return Forms(store)


@pytest.mark.parametrize("name", CASES)
def test_the_clock_decides(name: str) -> None:
    model = model_of(CASES[name])
    given = random_inputs(model.graph)
    one = compile_model(model, forms=answering(model, 2.0, 1.5, 0.5))
    two = compile_model(model, forms=answering(model, 2.1, 1.5, 0.5))
    assert len(two.steps) == len(one.steps) + 1
    np.testing.assert_allclose(two(*given), one(*given), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("missing", range(3))
def test_what_was_not_timed_is_expected(missing: int) -> None:
    model = model_of(CASES["matmul"])
    (choice,) = all_choices(model)
    forms = answering(model, 9.0, 1.0, 1.0)
    assert times_of(choice, forms) == Times(9.0, 1.0, 1.0)
    forms.store.put(Forms.key(USUAL, choice.texts[missing]), None)
    assert times_of(choice, forms) is None
    assert choice.expected
    assert [one.label for one in compile_model(model, forms=forms).steps] == ["matmul+add+relu"]


def test_each_kernel_counts_in_its_fastest_form() -> None:
    model = model_of(CASES["matmul"])
    forms = answering(model, 1.9, 1.5, 0.5)
    (choice,) = all_choices(model)
    forms.store.put(Forms.key(FORMS[2], choice.texts[1]), 1.0)
    found = times_of(choice, forms)
    assert found is not None
    assert (found, found.pays) == (Times(1.9, 1.0, 0.5), False)


def test_of_two_products_either_may_be_where_their_sum_is() -> None:
    """The second one is asked first; where it is apart, the first one is asked."""
    model = model_of(CASES["two products"])
    found = all_choices(model)
    assert [one.together.label for one in found] == ["matmul+add", "matmul+add"]
    assert found[0].alone.root is not found[1].alone.root
    store = TimeStore(None, 1)
    for choice, together in zip(found, (3.0, 1.0), strict=True):
        for text, seconds in zip(choice.texts, (together, 1.0, 1.0), strict=True):
            store.put(Forms.key(USUAL, text), seconds)
    made = compile_model(model, forms=Forms(store))
    assert [one.label for one in made.steps] in (["matmul", "matmul+add"], ["matmul+add"])


def test_what_is_alike_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four layers, all alike but the first, which reads an input of another shape."""
    x: Term = X
    for place in range(4):
        x = tanh(relu(matmul(x, weight(f"w{place}", 33 if place == 0 else 20, 20))))
    model = model_of(x)
    forms = answering(model, 9.0, 1.0, 1.0)
    asked: list[Choice] = []

    def counted(choice: Choice, forms: Forms) -> Times | None:
        asked.append(choice)
        return times_of(choice, forms)

    monkeypatch.setattr("polygym.graphs.running.fusing.times_of", counted)
    labels = [one.label for one in compile_model(model, forms=forms).steps]
    assert labels == ["matmul", "relu+tanh"] * 4
    assert len(asked) == 2
    assert len({choice.texts for choice in asked}) == 2


def test_tuning_times_one_kernel_and_two(monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds(recipe: Recipe, worker: object) -> float:
        return 1.0 if "?" in recipe.text else 0.4  # relu costs more than the product

    monkeypatch.setattr("polygym.graphs.running.tuned.seconds_of_kernel", seconds)
    model = model_of(relu(PRODUCT))
    forms = Forms(TimeStore(None, 1))
    assert tuned_choices(model, forms) == []
    kernels = tune(model, forms, 1, worker=object())  # type: ignore[arg-type]
    (choice,) = tuned_choices(model, forms)
    assert (choice.label, choice.expected, choice.times) == (
        "matmul+relu",
        True,
        Times(1.0, 0.4, 1.0),
    )
    assert [(one.step.label, one.count) for one in kernels] == [("matmul+relu", 1)]
    for text in all_choices(model)[0].texts[2:]:
        forms.store.put(Forms.key(USUAL, text), 0.1)
    kernels = tune(model, forms, 1, worker=object())  # type: ignore[arg-type]
    assert [(one.step.label, one.count) for one in kernels] == [("matmul", 1)]
    assert not tuned_choices(model, forms)[0].times.pays
