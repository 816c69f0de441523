"""Programs on the GPU beside the CPU: the library's comprehensions, kernels, random mappings."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack

import numpy as np

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
from polygym.runtime.worker.outcome import Ok, Outcome
from polygym.runtime.worker.worker import Worker

RANDOM_MAPPINGS = 200
KERNELS = (
    "2mm", "3mm", "adi", "atax", "bicg", "cholesky", "correlation", "covariance", "deriche",
    "doitgen", "durbin", "fdtd-2d", "floyd-warshall", "gemm", "gemver", "gesummv", "gramschmidt",
    "heat-3d", "jacobi-1d", "jacobi-2d", "lu", "ludcmp", "mvt", "nussinov", "seidel-2d", "symm",
    "syr2k", "syrk", "trisolv", "trmm",
)  # fmt: skip
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
    from polybench import Dataset

    return load_program(name, dataset=Dataset.MINI)


def check_programs(
    step: str,
    names: Iterable[str],
    device: DeviceWorker,
    cpu: Worker,
    journal: Journal,
    deadline: Deadline,
) -> None:
    """Compare programs under the default mapping."""
    for name in names:
        if (step, name) not in journal and deadline.left:
            outcome = compared(name, DEFAULT_DEVICE_MAPPING, device, cpu)
            journal.add(step, name, **outcome)


def check_random_mappings(
    device: DeviceWorker, cpu: Worker, journal: Journal, deadline: Deadline, seed: int
) -> None:
    """Compare programs under random mappings, each with its own number."""
    with ExitStack() as stack:
        evaluators: dict[str, DeviceEvaluator] = {}
        for number, name, mapping in random_choices(seed):
            key = f"{number} {name}"
            if ("random mapping", key) in journal or not deadline.left:
                continue
            if name not in evaluators:
                made = DeviceEvaluator(named_program(name), device, cpu)
                evaluators[name] = stack.enter_context(made)
            outcome = judged(evaluators[name], mapping)
            journal.add("random mapping", key, mapping=str(mapping), **outcome)


def random_choices(seed: int) -> Iterator[tuple[int, str, DeviceMapping]]:
    """Yield programs with mappings; the same for a seed."""
    rng = np.random.default_rng(seed)
    for number in range(RANDOM_MAPPINGS):
        name = _RANDOM_PROGRAMS[number % len(_RANDOM_PROGRAMS)]
        yield number, name, random_mapping(rng)


def compared(
    name: str, mapping: DeviceMapping, device: DeviceWorker, cpu: Worker
) -> dict[str, object]:
    """Return how a program ended on the device beside the CPU, as plain data."""
    try:
        with DeviceEvaluator(named_program(name), device, cpu) as evaluator:
            return judged(evaluator, mapping)
    except Exception as error:  # the next program is to be tried
        return {"ok": False, "text": f"{type(error).__name__}: {error}"}


def judged(evaluator: DeviceEvaluator, mapping: DeviceMapping) -> dict[str, object]:
    """Return how isl's schedule of a program ended under a mapping, as plain data."""
    try:
        schedule = isl_schedule(evaluator.program.scop)
        outcome: Outcome = evaluator.evaluate(schedule, mapping, runs=2)
    except Exception as error:  # the next one is to be tried
        return {"ok": False, "text": f"{type(error).__name__}: {error}"}
    return {"ok": isinstance(outcome, Ok), "text": str(outcome)}


def library_names() -> list[str]:
    """Return the comprehensions of the library as names of programs."""
    return [f"tc:{name}" for name in sorted(library.definitions())]
