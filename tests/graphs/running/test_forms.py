"""Forms of kernels: the same results, bit for bit, whichever the clock has chosen."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.graphs.ir.build import conv, entering, matmul, relu, weight
from polygym.graphs.ir.model import random_inputs
from polygym.graphs.running import compile_model
from polygym.graphs.running.forms import FORMS, USUAL, Form, Forms
from polygym.graphs.running.lowering import traced
from polygym.graphs.running.plan import laid_out
from polygym.graphs.running.tuned import TunedKernel, tune
from polygym.rewrite.term import Term
from polygym.tc.times import TimeStore
from tests.graphs.running.cases import model_of

CASES: dict[str, Term] = {
    "conv": conv(entering("x", 2, 5, 9, 8), weight("w", 32, 5, 3, 3), (2, 1), "same"),
    "conv relu": conv(entering("x", 1, 6, 7, 7), weight("w", 32, 6, 1, 1), activation="relu"),
    "conv and what follows": relu(conv(entering("x", 1, 6, 9, 9), weight("w", 32, 6, 3, 3))),
    "conv in groups": conv(entering("x", 1, 8, 6, 6), weight("w", 32, 4, 3, 3)),
    "conv of odd filters": conv(entering("x", 1, 8, 6, 6), weight("w", 9, 8, 3, 3)),
    "conv with an input": conv(entering("x", 1, 8, 6, 6), entering("w", 16, 8, 3, 3)),
    "matmul": matmul(entering("x", 7, 33), weight("w", 33, 20), "relu"),
    "matmul in blocks": matmul(entering("x", 2, 7, 33), weight("w", 33, 64), "relu"),
    "matmul by an input": matmul(entering("x", 2, 7, 33), entering("y", 2, 33, 16)),
}


def chosen(case: Term, form: Form) -> Forms:
    """Return times by which a form is the fastest of every kernel of a model."""
    model = model_of(case)
    store = TimeStore(None, 1)
    for step in laid_out(traced(model.graph, model.weights), 1, fuse=True).steps:
        text = step.recipe.text  # type: ignore[union-attr]
        store.put(Forms.key(USUAL, text), 2.0)
        store.put(Forms.key(form, text), 1.0)
    return Forms(store)


@pytest.mark.parametrize("case", CASES)
def test_all_forms_compute_the_same(case: str) -> None:
    model = model_of(CASES[case])
    given = random_inputs(model.graph)
    usual = compile_model(model, forms=Forms(TimeStore(None, 1)))
    expected = usual(*given)
    texts = set()
    for form in FORMS if case == "conv relu" else (USUAL, FORMS[1], FORMS[4], FORMS[-1]):
        made = compile_model(model, forms=chosen(CASES[case], form))
        np.testing.assert_array_equal(made(*given), expected)
        texts.add(made.steps[-1].text)
    is_blocked = case in ("conv", "conv relu", "conv and what follows", "matmul in blocks")
    assert len(texts) == (3 if is_blocked else 1), "blocks of 16 and 32 are other kernels"


def test_a_form_must_be_faster_by_more_than_noise() -> None:
    store = TimeStore(None, 1)
    forms, form = Forms(store), FORMS[2]
    assert forms.of("text") == USUAL, "nothing is known"
    store.put(forms.key(form, "text"), 1.0)
    assert forms.of("text") == USUAL, "the usual one is not known"
    store.put(forms.key(USUAL, "text"), 1.02)
    assert forms.of("text") == USUAL, "within noise"
    store.put(forms.key(USUAL, "text"), 1.2)
    assert forms.of("text") == form
    store.put(forms.key(FORMS[1], "text"), None)
    assert forms.of("text") == form, "one that does not run"


def test_tuning_measures_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def seconds(recipe: object, worker: object) -> float:
        asked.append(recipe.words)  # type: ignore[attr-defined]
        return 0.5 if recipe.words == "unroll_jam=8" else 1.0  # type: ignore[attr-defined]

    monkeypatch.setattr("polygym.graphs.running.tuned.seconds_of_kernel", seconds)
    forms = Forms(TimeStore(None, 1))
    model = model_of(CASES["conv"], matmul(entering("z", 7, 33), weight("v", 33, 20)))
    told: list[TunedKernel] = []
    found = tune(model, forms, 1, told.append, worker=object())  # type: ignore[arg-type]
    assert found == told
    assert [(one.usual, one.best, one.form) for one in found] == [(1.0, 0.5, "unroll_jam=8")] * 2
    assert "" in asked
    asked.clear()
    assert tune(model, forms, 1, worker=object()) == found  # type: ignore[arg-type]
    assert not asked, "what is known is not measured again"


def test_short_kernels_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polygym.graphs.running.tuned.seconds_of_kernel", lambda *_: 1e-6)
    forms = Forms(TimeStore(None, 1))
    (found,) = tune(model_of(CASES["matmul"]), forms, 1, worker=object())  # type: ignore[arg-type]
    assert (found.form, len(forms.store)) == ("usual", 3), "one kernel or two, each once"
