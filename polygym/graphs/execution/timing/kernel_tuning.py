"""The fastest kernels of a model, found by the clock and kept.

Each different product or convolution is timed in all of its forms by the measuring worker, the best
of several runs; the few that were fastest then run once more after the usual one, and of two times
the lesser counts. So are the kernels of every choice between one and two of them
(:mod:`polygym.graphs.execution.planning.fusion`). What is kept is every time, so that an ended
search goes on where it was.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeGuard

from polygym.errors import PolygymError
from polygym.graphs.execution.ir.nests import nest_text
from polygym.graphs.execution.lowering.graph_lowering import lower_graph
from polygym.graphs.execution.lowering.kernel_groups import KernelGroup, group_nest
from polygym.graphs.execution.planning.execution_plan import (
    ElementCopy,
    KernelLaunch,
    kernel_in_variant,
    plan_execution,
)
from polygym.graphs.execution.planning.fusion import FusionTimes, fusion_choices, fusion_times
from polygym.graphs.execution.planning.kernel_variants import (
    DEFAULT_VARIANT,
    VARIANTS,
    KernelSource,
    KernelVariant,
    KernelVariants,
    WeightBlocking,
    has_variants,
)
from polygym.graphs.execution.timing.kernel_timing import kernel_seconds, process_worker
from polygym.graphs.execution.timing.step_profile import StepDescription, describe_kernel
from polygym.graphs.ir.graph import Model
from polygym.pickling import pickle_by_name
from polygym.runtime.worker.worker import Worker

_MIN_SECONDS = 3e-5
"""Seconds of a kernel of which no forms are tried: starting threads is half of that."""

_REMEASURED = 3
"""How many forms run once more."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TunedKernel:
    """A kernel that a model runs ``count`` times: its usual time, its best one and that form.

    While a search goes on the count is that of what was tried, and may be none at last.
    """

    step: StepDescription
    count: int
    default_seconds: float
    best_seconds: float
    variant: str


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TunedFusion:
    """Whether a step of a model is one kernel or two, the times of both, and what was expected."""

    label: str
    times: FusionTimes
    expected: bool


def tune_model(
    model: Model,
    forms: KernelVariants,
    threads: int = 1,
    progress: Callable[[TunedKernel], None] | None = None,
    worker: Worker | None = None,
) -> list[TunedKernel]:
    """Measure what is not known yet, and return the products and convolutions that a model runs.

    Ctrl-C loses nothing: every time is kept as soon as it is known.
    """
    known = lower_graph(model.graph, model.weights)
    blocker = WeightBlocking.over(known.constants)
    tried = [
        step.group
        for step in plan_execution(known, threads, fuse=True).steps
        if _has_variants(step)
    ]
    for choice in fusion_choices(known):
        tried += choice.groups
    for text, group, count in _distinct_kernels(tried):
        variants = dict(_variants(group, threads, blocker))
        _measure(text, variants, forms, worker or process_worker())
        if progress is not None and has_variants(group):
            progress(_known_times(group, count, forms, threads, blocker))
    final = plan_execution(known, threads, fuse=True, forms=forms).steps
    ran = _distinct_kernels(step.group for step in final if _has_variants(step))
    return [_known_times(group, count, forms, threads, blocker) for _, group, count in ran]


def tuned_fusions(model: Model, forms: KernelVariants) -> list[TunedFusion]:
    """Return what the clock has said where a step could be one kernel or two."""
    result = []
    for choice in fusion_choices(lower_graph(model.graph, model.weights)):
        times = fusion_times(choice, forms)
        if times is not None:
            result.append(TunedFusion(choice.fused.label, times, choice.expected))
    return result


def _has_variants(step: KernelLaunch | ElementCopy) -> TypeGuard[KernelLaunch]:
    return isinstance(step, KernelLaunch) and has_variants(step.group)


def _distinct_kernels(groups: Iterable[KernelGroup]) -> list[tuple[str, KernelGroup, int]]:
    """Return groups that are different kernels, each with its text and how many there are of it."""
    same: dict[str, list[KernelGroup]] = {}
    for group in groups:
        same.setdefault(nest_text(group_nest(group)[0]), []).append(group)
    return [(text, some[0], len(some)) for text, some in same.items()]


def _known_times(
    group: KernelGroup, count: int, forms: KernelVariants, threads: int, blocker: WeightBlocking
) -> TunedKernel:
    """Return what is known of a kernel."""
    made = kernel_in_variant(group, DEFAULT_VARIANT, threads, blocker)
    assert made is not None, "nothing is in blocks"
    nest, recipe, views = made
    usual = forms.store.get(forms.key(DEFAULT_VARIANT, recipe.text)) or 0.0
    best = forms.seconds(recipe.text) or 0.0
    step = describe_kernel(group, nest, recipe, views)
    return TunedKernel(step, count, usual, best, str(forms.fastest(recipe.text)))


def _variants(
    group: KernelGroup, threads: int, blocker: WeightBlocking
) -> Iterator[tuple[KernelVariant, KernelSource]]:
    for form in VARIANTS if has_variants(group) else (DEFAULT_VARIANT,):
        made = kernel_in_variant(group, form, threads, blocker)
        if made is not None:
            yield form, made[1]


def _measure(
    text: str, variants: dict[KernelVariant, KernelSource], forms: KernelVariants, worker: Worker
) -> None:
    """Time the forms of a kernel that have no time yet."""
    store = forms.store
    missing = {form for form in variants if forms.key(form, text) not in store}
    if not missing:
        return
    for form, recipe in variants.items():  # the usual one first
        if form in missing:
            store.put(forms.key(form, text), _seconds(recipe, worker))
        if (
            form == DEFAULT_VARIANT
            and (store.get(forms.key(DEFAULT_VARIANT, text)) or 0.0) < _MIN_SECONDS
        ):
            return  # also where it does not run
    times = {form: store.get(forms.key(form, text)) for form in variants}
    fastest = sorted((time, str(form), form) for form, time in times.items() if time is not None)
    for _, _, form in [(0.0, "", DEFAULT_VARIANT), *fastest[:_REMEASURED]]:
        again, before = _seconds(variants[form], worker), times[form]
        if again is not None and before is not None and again < before:
            store.put(forms.key(form, text), again)


def _seconds(recipe: KernelSource, worker: Worker) -> float | None:
    """Return the seconds of a kernel; None where it does not run."""
    try:
        return kernel_seconds(recipe, worker)
    except (PolygymError, MemoryError):
        return None
