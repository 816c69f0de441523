"""Forms of kernels: the same results, bit for bit, whichever the clock has chosen."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.graphs.execution import compile_model
from polygym.graphs.execution.lowering.graph_lowering import lower_graph
from polygym.graphs.execution.planning.execution_plan import plan_execution
from polygym.graphs.execution.planning.kernel_variants import (
    DEFAULT_VARIANT,
    VARIANTS,
    KernelVariant,
    KernelVariants,
)
from polygym.graphs.execution.timing.kernel_tuning import TunedKernel, tune_model
from polygym.graphs.ir.build import conv, graph_input, matmul, relu, weight
from polygym.graphs.ir.graph import random_inputs
from polygym.rewrite.term import Term
from polygym.tc.measured_times import MeasuredTimes
from tests.graphs.execution.cases import model_of

CASES: dict[str, Term] = {
    "conv": conv(graph_input("x", 2, 5, 9, 8), weight("w", 32, 5, 3, 3), (2, 1), "same"),
    "conv relu": conv(graph_input("x", 1, 6, 7, 7), weight("w", 32, 6, 1, 1), activation="relu"),
    "conv and what follows": relu(conv(graph_input("x", 1, 6, 9, 9), weight("w", 32, 6, 3, 3))),
    "conv in groups": conv(graph_input("x", 1, 8, 6, 6), weight("w", 32, 4, 3, 3)),
    "conv of odd filters": conv(graph_input("x", 1, 8, 6, 6), weight("w", 9, 8, 3, 3)),
    "conv with an input": conv(graph_input("x", 1, 8, 6, 6), graph_input("w", 16, 8, 3, 3)),
    "matmul": matmul(graph_input("x", 7, 33), weight("w", 33, 20), "relu"),
    "matmul in blocks": matmul(graph_input("x", 2, 7, 33), weight("w", 33, 64), "relu"),
    "matmul by an input": matmul(graph_input("x", 2, 7, 33), graph_input("y", 2, 33, 16)),
}


def chosen(case: Term, form: KernelVariant) -> KernelVariants:
    """Return times by which a form is the fastest of every kernel of a model."""
    model = model_of(case)
    store = MeasuredTimes(None, 1)
    for step in plan_execution(lower_graph(model.graph, model.weights), 1, fuse=True).steps:
        text = step.recipe.text  # type: ignore[union-attr]
        store.put(KernelVariants.key(DEFAULT_VARIANT, text), 2.0)
        store.put(KernelVariants.key(form, text), 1.0)
    return KernelVariants(store)


@pytest.mark.parametrize("case", CASES)
def test_all_forms_compute_the_same(case: str) -> None:
    model = model_of(CASES[case])
    given = random_inputs(model.graph)
    usual = compile_model(model, forms=KernelVariants(MeasuredTimes(None, 1)))
    expected = usual(*given)
    texts = set()
    for form in (
        VARIANTS
        if case == "conv relu"
        else (DEFAULT_VARIANT, VARIANTS[1], VARIANTS[4], VARIANTS[-1])
    ):
        made = compile_model(model, forms=chosen(CASES[case], form))
        np.testing.assert_array_equal(made(*given), expected)
        texts.add(made.steps[-1].text)
    is_blocked = case in ("conv", "conv relu", "conv and what follows", "matmul in blocks")
    assert len(texts) == (3 if is_blocked else 1), "blocks of 16 and 32 are other kernels"


def test_a_form_must_be_faster_by_more_than_noise() -> None:
    store = MeasuredTimes(None, 1)
    forms, form = KernelVariants(store), VARIANTS[2]
    assert forms.fastest("text") == DEFAULT_VARIANT, "nothing is known"
    store.put(forms.key(form, "text"), 1.0)
    assert forms.fastest("text") == DEFAULT_VARIANT, "the usual one is not known"
    store.put(forms.key(DEFAULT_VARIANT, "text"), 1.02)
    assert forms.fastest("text") == DEFAULT_VARIANT, "within noise"
    store.put(forms.key(DEFAULT_VARIANT, "text"), 1.2)
    assert forms.fastest("text") == form
    store.put(forms.key(VARIANTS[1], "text"), None)
    assert forms.fastest("text") == form, "one that does not run"


def test_tuning_measures_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def seconds(recipe: object, worker: object) -> float:
        asked.append(recipe.mapping_options)  # type: ignore[attr-defined]
        return 0.5 if recipe.mapping_options == "unroll_jam=8" else 1.0  # type: ignore[attr-defined]

    monkeypatch.setattr("polygym.graphs.execution.timing.kernel_tuning.kernel_seconds", seconds)
    forms = KernelVariants(MeasuredTimes(None, 1))
    model = model_of(CASES["conv"], matmul(graph_input("z", 7, 33), weight("v", 33, 20)))
    told: list[TunedKernel] = []
    kernels = tune_model(model, forms, 1, told.append, worker=object())  # type: ignore[arg-type]
    assert kernels == told
    assert [
        (kernel.default_seconds, kernel.best_seconds, kernel.variant) for kernel in kernels
    ] == [(1.0, 0.5, "unroll_jam=8")] * 2
    assert "" in asked
    asked.clear()
    assert tune_model(model, forms, 1, worker=object()) == kernels  # type: ignore[arg-type]
    assert not asked, "what is known is not measured again"


def test_short_kernels_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "polygym.graphs.execution.timing.kernel_tuning.kernel_seconds", lambda *_: 1e-6
    )
    forms = KernelVariants(MeasuredTimes(None, 1))
    (kernel,) = tune_model(model_of(CASES["matmul"]), forms, 1, worker=object())  # type: ignore[arg-type]
    assert (kernel.variant, len(forms.store)) == ("usual", 3), "one kernel or two, each once"
