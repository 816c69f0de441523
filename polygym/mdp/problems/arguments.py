"""The arguments of an environment: checked one by one before anything is made of them.

They come from configuration files and command lines as often as from code, so each is refused by
its name, with what was expected, in the constructor. NumPy's integers are taken for what they are;
``True`` is no number.
"""

from collections.abc import Mapping, Sequence
from math import inf
from operator import index
from typing import Any

from polygym.errors import InputError
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.mapping.mapping import parse_mapping
from polygym.mdp.policies.registry import policy_named
from polygym.mdp.problems import loading
from polygym.mdp.rewards import RewardKind
from polygym.mdp.task_options import TaskOptions, TransformOptions
from polygym.poly.scheduling.strategy import ScheduleStrategy, parse_strategy
from polygym.poly.spaces.polyhedra import SpaceLimits
from polygym.runtime.evaluation import EvaluationOptions, Remeasure

_MOST_GENERATORS = 100_000

# Those that decide which episodes there are and what they are worth; render_mode does not, nor does
# remeasure, which is about how well that is known.
ARGUMENT_NAMES = (
    "kernel", "dataset", "parameters", "function", "max_coefficient", "max_dimensions", "max_rays",
    "max_vertices", "reward", "threads", "timeout_factor", "mapping", "policy", "seed",
)  # fmt: skip


def check_integer(name: str, value: object) -> int:
    """Return an integer argument.

    >>> check_integer("max_rays", 3)
    3
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(f"{name}: expected an integer, found {value!r}") from None


def check_text(name: str, value: object) -> str:
    """Return a text argument."""
    if not isinstance(value, str):
        raise InputError(f"{name}: expected a text, found {value!r}")
    return value


def check_function(value: object) -> str | None:
    """Return the name of a function, if there is one."""
    if value is None:
        return None
    if not check_text("function", value).strip():
        raise InputError(f"function: expected None or the name of a function, found {value!r}")
    return str(value)


def check_seed(value: object) -> int | None:
    """Return the seed, if there is one."""
    if value is None:
        return None
    number = check_integer("seed", value)
    if number < 0:
        raise InputError(f"seed: expected None or an integer from 0 on, found {value!r}")
    return number


def check_start(value: object) -> ScheduleStrategy | None:
    """Return the strategy whose schedule is edited, if there is one."""
    if value is None:
        return None
    try:
        return parse_strategy(check_text("start", value))
    except InputError as error:
        if str(error).startswith("start: "):
            raise
        raise InputError(
            f"start: expected None or {str(error).partition('expected ')[2]}"
        ) from None


def check_switch(name: str, value: object) -> bool:
    """Return an argument that is True or False."""
    if not isinstance(value, bool):
        raise InputError(f"{name}: expected True or False, found {value!r}")
    return value


def check_storage_limit(value: object) -> int:
    """Return how many bytes new arrays may take."""
    number = check_integer("storage_limit", value)
    if not 0 <= number <= 2**62:
        raise InputError(f"storage_limit: expected 0 to 2^62 bytes, found {number}")
    return number


def check_transform_options(
    mapping: MachineMapping,
    start: ScheduleStrategy | None,
    max_steps: object,
    max_actions: object,
    storage_limit: object,
) -> TransformOptions:
    """Return how a program is transformed."""
    return TransformOptions(
        mapping,
        start,
        _check_range("max_steps", max_steps, 1, 1000),
        _check_range("max_actions", max_actions, 2, 10_000),
        check_storage_limit(storage_limit),
    )


def _check_range(name: str, value: object, least: int, most: int) -> int:
    number = check_integer(name, value)
    if not least <= number <= most:
        raise InputError(f"{name}: expected {least} to {most:,}, found {number}")
    return number


def check_render_mode(value: object, modes: Sequence[str]) -> str | None:
    """Return the render mode, if there is one."""
    if value is not None and value not in modes:
        raise InputError(f"render_mode: expected None or one of {modes}, found {value!r}")
    return None if value is None else str(value)


def check_task_options(
    max_coefficient: object, max_dimensions: object, max_rays: object, max_vertices: object
) -> TaskOptions:
    """Return the size of the processes."""
    rays = _check_range("max_rays", max_rays, 1, _MOST_GENERATORS)
    vertices = _check_range("max_vertices", max_vertices, 1, _MOST_GENERATORS)
    return TaskOptions(
        check_integer("max_coefficient", max_coefficient),
        check_integer("max_dimensions", max_dimensions),
        SpaceLimits(rays=rays, vertices=vertices),
    )


def check_evaluation_options(
    threads: object, timeout_factor: object, mapping: object, remeasure: object = "never"
) -> EvaluationOptions:
    """Return how schedules are judged."""
    if isinstance(timeout_factor, bool) or not isinstance(timeout_factor, int | float):
        raise InputError(
            "timeout_factor: expected a number from 1 on, times the original's time, found "
            f"{timeout_factor!r}"
        )
    try:
        factor = float(timeout_factor)
    except OverflowError:
        factor = inf
    number = check_integer("threads", threads)
    chosen = parse_mapping(check_text("mapping", mapping))
    if chosen.threads not in (1, number):
        raise InputError(
            f"mapping: expected {number} threads, as the argument threads has it, found "
            f"threads={chosen.threads}"
        )
    again = Remeasure.named(check_text("remeasure", remeasure))
    return EvaluationOptions(threads=number, timeout_factor=factor, mapping=chosen, remeasure=again)


def check_arguments(given: Mapping[str, Any]) -> None:
    """Refuse arguments that no environment takes; ``given`` has all of :data:`ARGUMENT_NAMES`.

    A kernel need only be a text: whether there is such a file is for who opens it.
    """
    if not check_text("kernel", given["kernel"]).strip():
        raise InputError(f"kernel: expected a kernel or a C file, found {given['kernel']!r}")
    loading.dataset_named(check_text("dataset", given["dataset"]))
    loading.parse_parameters(given["parameters"])
    check_function(given["function"])
    check_task_options(
        given["max_coefficient"], given["max_dimensions"], given["max_rays"], given["max_vertices"]
    )
    RewardKind.named(check_text("reward", given["reward"]))
    check_evaluation_options(given["threads"], given["timeout_factor"], given["mapping"])
    policy_named(check_text("policy", given["policy"]))
    check_seed(given["seed"])
