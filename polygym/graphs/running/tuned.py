"""The fastest form of every product and convolution of a model, found by the clock and kept.

Each different kernel is timed in all of its forms by the measuring worker, the best of several
runs; the few that were fastest then run once more after the usual one, and of two times the lesser
counts. What is kept is every time, so that an ended search goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from polygym.errors import PolygymError
from polygym.graphs.ir.model import Model
from polygym.graphs.running.forms import FORMS, USUAL, Blocker, Form, Forms, has_forms
from polygym.graphs.running.kernels import Recipe
from polygym.graphs.running.lowering import traced
from polygym.graphs.running.plan import Launch, formed, laid_out
from polygym.graphs.running.steps import Step, described
from polygym.graphs.running.timed import own_worker, seconds_of_kernel
from polygym.measure.worker.worker import Worker
from polygym.pickles import pickled_by_name

__all__ = ["TunedKernel", "tune"]

_SHORTEST = 3e-5
"""Seconds of a kernel of which no forms are tried: starting threads is half of that."""

_AGAIN = 3
"""How many forms run once more."""


@pickled_by_name
@dataclass(frozen=True, slots=True)
class TunedKernel:
    """A kernel that a model runs ``count`` times: its usual time, its best one and that form."""

    step: Step
    count: int
    usual: float
    best: float
    form: str


def tune(
    model: Model,
    forms: Forms,
    threads: int = 1,
    progress: Callable[[TunedKernel], None] | None = None,
    worker: Worker | None = None,
) -> list[TunedKernel]:
    """Measure what is not known yet of a model's kernels, and return all of them.

    Ctrl-C loses nothing: every time is kept as soon as it is known.
    """
    found = []
    known = traced(model.graph, model.weights)
    blocker = Blocker.over(known.constants)
    steps: dict[Recipe, list[Launch]] = {}
    for step in laid_out(known, threads, fuse=True).steps:
        if isinstance(step, Launch) and has_forms(step.group):
            steps.setdefault(step.recipe, []).append(step)
    for recipe, same in steps.items():
        variants = dict(_variants(same[0], threads, blocker))
        _measure(recipe.text, variants, forms, worker or own_worker())
        form = forms.of(recipe.text)
        usual = forms.store.get(forms.key(USUAL, recipe.text)) or 0.0
        best = forms.store.get(forms.key(form, recipe.text)) or 0.0
        found.append(TunedKernel(described(same[0]), len(same), usual, best, str(form)))
        if progress is not None:
            progress(found[-1])
    return found


def _variants(step: Launch, threads: int, blocker: Blocker) -> Iterator[tuple[Form, Recipe]]:
    for form in FORMS:
        made = formed(step.group, form, threads, blocker)
        if made is not None:
            yield form, made[1]


def _measure(text: str, variants: dict[Form, Recipe], forms: Forms, worker: Worker) -> None:
    """Time the forms of a kernel that have no time yet."""
    store = forms.store
    missing = {form for form in variants if forms.key(form, text) not in store}
    if not missing:
        return
    for form, recipe in variants.items():  # the usual one first
        if form in missing:
            store.put(forms.key(form, text), _seconds(recipe, worker))
        if form == USUAL and (store.get(forms.key(USUAL, text)) or 0.0) < _SHORTEST:
            return  # also where it does not run
    times = {form: store.get(forms.key(form, text)) for form in variants}
    fastest = sorted((one, str(form), form) for form, one in times.items() if one is not None)
    for _, _, form in [(0.0, "", USUAL), *fastest[:_AGAIN]]:
        again, before = _seconds(variants[form], worker), times[form]
        if again is not None and before is not None and again < before:
            store.put(forms.key(form, text), again)


def _seconds(recipe: Recipe, worker: Worker) -> float | None:
    """Return the seconds of a kernel; None where it does not run."""
    try:
        return seconds_of_kernel(recipe, worker)
    except (PolygymError, MemoryError):
        return None
