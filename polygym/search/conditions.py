"""Under which conditions schedules are explored and measured, whichever program they are of.

Two searches under the same conditions can be continued as one; what a file holds of them is
compared with what there is now by :func:`differences`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from polygym.errors import InputError
from polygym.mapping.mapping import parse_mapping
from polygym.mdp.task_options import TaskOptions
from polygym.poly.spaces.polyhedra import SpaceLimits
from polygym.runtime.evaluation import EvaluationOptions

_LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConditions:
    """The seed of the policies, the size of the processes, how schedules are judged."""

    seed: int = 0
    options: TaskOptions = field(default_factory=TaskOptions)
    evaluation: EvaluationOptions = field(default_factory=EvaluationOptions)

    def __post_init__(self) -> None:
        """Refuse random search that there are not."""
        if not 0 <= self.seed <= _LARGEST_SEED:
            raise InputError(f"a seed: expected 0 to {_LARGEST_SEED}, found {self.seed}")

    def conditions_json(self) -> dict[str, Any]:
        """Return plain data; :func:`conditions_from_json` reads it back."""
        limits = self.options.limits
        return {
            "seed": self.seed,
            **evaluation_options_json(self.evaluation),
            "max_coefficient": self.options.max_coefficient,
            "max_dimensions": self.options.max_dimensions,
            "max_rays": limits.rays,
            "max_vertices": limits.vertices,
        }


def conditions_from_json(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that :meth:`SearchConditions.conditions_json` wrote.

    Raises:
        KeyError, TypeError, ValueError, InputError: it did not.
    """
    limits = SpaceLimits(rays=data["max_rays"], vertices=data["max_vertices"])
    return {
        "seed": data["seed"],
        "options": TaskOptions(data["max_coefficient"], data["max_dimensions"], limits),
        "evaluation": evaluation_options_from_json(data),
    }


def evaluation_options_json(measuring: EvaluationOptions) -> dict[str, Any]:
    """Return how schedules are judged as plain data, but for the memory that a compile may take."""
    return {
        "threads": measuring.threads,
        "timeout_factor": measuring.timeout_factor,
        "compile_seconds": measuring.compile_seconds,
        "mapping": str(measuring.mapping),
    }


def evaluation_options_from_json(data: Mapping[str, Any]) -> EvaluationOptions:
    """Read :func:`evaluation_options_json`; raises as :func:`conditions_from_json` does."""
    return EvaluationOptions(
        threads=data["threads"],
        timeout_factor=data["timeout_factor"],
        compile_seconds=data["compile_seconds"],
        mapping=parse_mapping(data["mapping"]),
    )


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what differs between two settings in JSON.

    Where a text stands does not matter if it is the same: polygym, with its kernels, may have
    moved.

    >>> differences({"seed": 1, "process": {"max_rays": 64}}, {"seed": 2, "process": {}})
    ('seed: 1 before, 2 now', 'process.max_rays: 64 before, None now')
    >>> differences({"sha256": "x", "file": "old/gemm.c"}, {"sha256": "x", "file": "new/gemm.c"})
    ()
    """
    return tuple(_differences(before, now, ""))


def _differences(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str) -> Iterator[str]:
    is_one_text = "sha256" in now and before.get("sha256") == now["sha256"]
    for name in dict.fromkeys((*before, *now)):
        old, new = before.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _differences(old, new, f"{prefix}{name}.")
        elif old == new:
            continue
        elif name == "file" and is_one_text:
            continue
        elif name != "sha256":
            yield f"{prefix}{name}: {old} before, {new} now"
        else:
            yield "the text of the program's source file"
