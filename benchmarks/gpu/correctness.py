"""Programs on the GPU beside the CPU: the library's comprehensions, kernels, random mappings."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

import polybench
from benchmarks.gpu.clock import Deadline
from benchmarks.gpu.journal import Journal
from benchmarks.gpu.mappings import random_mapping
from polygym.frontend.tc import library
from polygym.gpu.mapping.device_mapping import DEFAULT_DEVICE_MAPPING, DeviceMapping
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import Program, load_program
from polygym.programs.loading import load_scop
from polygym.runtime.device.device_evaluator import DeviceEvaluator
from polygym.runtime.device.worker import DeviceWorker
from polygym.runtime.worker.outcome import Ok
from polygym.runtime.worker.worker import Worker

RANDOM_MAPPINGS = 200
_MOST_SECONDS = 20.0
_RANDOM_PROGRAMS = (
    "tc:matmul", "tc:tbmm", "tc:conv2d", "tc:mlp1", "tc:softmax", "tc:2LUT", "gemm", "jacobi-2d",
    "atax", "correlation",
)  # fmt: skip
# Small, no multiples of anything, and large enough for what has to fit into them.
_SIZES = {
    **library.DEFAULT_SIZES,
    **{"H": 13, "W": 17, "OH": 5, "OW": 6, "OM": 5, "M": 37, "N": 21, "K": 19, "B": 5},
}


def library_program(name: str) -> Program:
    """Return a comprehension of the library at small sizes that fit each other."""
    scop = load_scop(f"tc:{name}", None, {})
    sizes = {own.name: _SIZES.get(own.name, 3 + place) for place, own in enumerate(scop.parameters)}
    return load_program(f"tc:{name}", parameters=sizes)


def named_program(name: str) -> Program:
    """Return a comprehension, or a kernel of PolyBench at its smallest sizes."""
    if name.startswith("tc:"):
        return library_program(name.removeprefix("tc:"))
    return load_program(name, dataset=polybench.Dataset.MINI)


def check_programs(
    step: str,
    names: Iterable[str],
    device: DeviceWorker,
    cpu: Worker,
    journal: Journal,
    deadline: Deadline,
) -> None:
    """Compare programs under the default mapping."""
    for name in journal.open_names(step, names):
        if not deadline.left:
            return
        with closing_evaluators(device, cpu) as evaluators:
            outcome = compared(name, DEFAULT_DEVICE_MAPPING, evaluators, deadline)
        note(journal, step, name, outcome, deadline)


def check_random_mappings(
    device: DeviceWorker, cpu: Worker, journal: Journal, deadline: Deadline, seed: int
) -> None:
    """Compare programs under random mappings, each with its own number."""
    choices = {key: (name, mapping) for key, name, mapping in random_choices(seed)}
    with closing_evaluators(device, cpu) as evaluators:
        for key in journal.open_names("random mapping", choices):
            if not deadline.left:
                return
            name, mapping = choices[key]
            outcome = compared(name, mapping, evaluators, deadline)
            note(journal, "random mapping", key, {**outcome, "mapping": str(mapping)}, deadline)


def random_choices(seed: int) -> Iterator[tuple[str, str, DeviceMapping]]:
    """Yield programs with mappings, and what to call both; the same for a seed."""
    rng = np.random.default_rng(seed)
    for number in range(RANDOM_MAPPINGS):
        name = _RANDOM_PROGRAMS[number % len(_RANDOM_PROGRAMS)]
        yield f"{number} {name}, seed {seed}", name, random_mapping(rng)


Evaluators = Callable[[str], DeviceEvaluator]


@contextmanager
def closing_evaluators(device: DeviceWorker, cpu: Worker) -> Iterator[Evaluators]:
    """Lend what returns the evaluator of a program, made when it is first asked for."""
    made: dict[str, DeviceEvaluator] = {}
    with ExitStack() as stack:

        def evaluator(name: str) -> DeviceEvaluator:
            if name not in made:
                made[name] = stack.enter_context(DeviceEvaluator(named_program(name), device, cpu))
            return made[name]

        yield evaluator


def compared(
    name: str, mapping: DeviceMapping, evaluators: Evaluators, deadline: Deadline
) -> dict[str, Any]:
    """Return how isl's schedule of a program ended beside the CPU, as plain data."""
    try:
        evaluator = evaluators(name)
        schedule = isl_schedule(evaluator.program.scop)
        seconds = deadline.limit(_MOST_SECONDS)
        outcome = evaluator.evaluate(schedule, mapping, runs=2, seconds=seconds)
    except Exception as error:  # the next one is to be tried
        return {"ok": False, "text": f"{type(error).__name__}: {error}"}
    return {"ok": isinstance(outcome, Ok), "text": str(outcome)}


def note(
    journal: Journal, step: str, name: str, values: Mapping[str, Any], deadline: Deadline
) -> None:
    """Write a row, unless it failed because the time is over: it is done in another run."""
    if values["ok"] or deadline.left:
        journal.add(step, name, **values)


def kernel_names() -> list[str]:
    """Return the kernels of PolyBench."""
    return [kernel.name for kernel in polybench.KERNELS]


def library_names() -> list[str]:
    """Return the comprehensions of the library as names of programs."""
    return [f"tc:{name}" for name in sorted(library.definitions())]
