"""The fastest kernels of a model, found by the clock and kept.

Each different product or convolution is timed in all of its forms by the measuring worker, the best
of several runs; the few that were fastest then run once more after the usual one, and of two times
the lesser counts. So are the kernels of every choice between one and two of them
(:mod:`polygym.graphs.running.fusing`). What is kept is every time, so that an ended search goes on
where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeGuard

from polygym.errors import PolygymError
from polygym.graphs.ir.model import Model
from polygym.graphs.running.forms import FORMS, USUAL, Blocker, Form, Forms, has_forms
from polygym.graphs.running.fusing import Times, choices, times_of
from polygym.graphs.running.groups import Group, nest_of
from polygym.graphs.running.kernels import Recipe
from polygym.graphs.running.lowering import traced
from polygym.graphs.running.plan import Copy, Launch, formed, laid_out
from polygym.graphs.running.steps import Step, described_kernel
from polygym.graphs.running.texts import text_of
from polygym.graphs.running.timed import own_worker, seconds_of_kernel
from polygym.measure.worker.worker import Worker
from polygym.pickles import pickled_by_name

__all__ = ["TunedChoice", "TunedKernel", "tune", "tuned_choices"]

_SHORTEST = 3e-5
"""Seconds of a kernel of which no forms are tried: starting threads is half of that."""

_AGAIN = 3
"""How many forms run once more."""


@pickled_by_name
@dataclass(frozen=True, slots=True)
class TunedKernel:
    """A kernel that a model runs ``count`` times: its usual time, its best one and that form.

    While a search goes on the count is that of what was tried, and may be none at last.
    """

    step: Step
    count: int
    usual: float
    best: float
    form: str


@pickled_by_name
@dataclass(frozen=True, slots=True)
class TunedChoice:
    """Whether a step of a model is one kernel or two, the times of both, and what was expected."""

    label: str
    times: Times
    expected: bool


def tune(
    model: Model,
    forms: Forms,
    threads: int = 1,
    progress: Callable[[TunedKernel], None] | None = None,
    worker: Worker | None = None,
) -> list[TunedKernel]:
    """Measure what is not known yet, and return the products and convolutions that a model runs.

    Ctrl-C loses nothing: every time is kept as soon as it is known.
    """
    known = traced(model.graph, model.weights)
    blocker = Blocker.over(known.constants)
    tried = [step.group for step in laid_out(known, threads, fuse=True).steps if _is_formed(step)]
    for choice in choices(known):
        tried += choice.groups
    for text, group, count in _different(tried):
        variants = dict(_variants(group, threads, blocker))
        _measure(text, variants, forms, worker or own_worker())
        if progress is not None and has_forms(group):
            progress(_tuned(group, count, forms, threads, blocker))
    final = laid_out(known, threads, fuse=True, forms=forms).steps
    ran = _different(step.group for step in final if _is_formed(step))
    return [_tuned(group, count, forms, threads, blocker) for _, group, count in ran]


def tuned_choices(model: Model, forms: Forms) -> list[TunedChoice]:
    """Return what the clock has said where a step could be one kernel or two."""
    found = []
    for choice in choices(traced(model.graph, model.weights)):
        times = times_of(choice, forms)
        if times is not None:
            found.append(TunedChoice(choice.together.label, times, choice.expected))
    return found


def _is_formed(step: Launch | Copy) -> TypeGuard[Launch]:
    return isinstance(step, Launch) and has_forms(step.group)


def _different(groups: Iterable[Group]) -> list[tuple[str, Group, int]]:
    """Return groups that are different kernels, each with its text and how many there are of it."""
    same: dict[str, list[Group]] = {}
    for group in groups:
        same.setdefault(text_of(nest_of(group)[0]), []).append(group)
    return [(text, some[0], len(some)) for text, some in same.items()]


def _tuned(group: Group, count: int, forms: Forms, threads: int, blocker: Blocker) -> TunedKernel:
    """Return what is known of a kernel."""
    made = formed(group, USUAL, threads, blocker)
    assert made is not None, "nothing is in blocks"
    nest, recipe, views = made
    usual = forms.store.get(forms.key(USUAL, recipe.text)) or 0.0
    best = forms.seconds(recipe.text) or 0.0
    step = described_kernel(group, nest, recipe, views)
    return TunedKernel(step, count, usual, best, str(forms.of(recipe.text)))


def _variants(group: Group, threads: int, blocker: Blocker) -> Iterator[tuple[Form, Recipe]]:
    for form in FORMS if has_forms(group) else (USUAL,):
        made = formed(group, form, threads, blocker)
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
