"""Keys and types of the last ``info`` of an episode, the same for every end."""

from typing import Any, TypeAlias

from polygym.poly.schedule import Schedule
from polygym.runtime.evaluation import Evaluation

Info: TypeAlias = dict[str, Any]

INVALID_STATUS = "invalid"
NOT_MEASURED_STATUS = "not measured"


def unmeasured_info(
    status: str,
    *,
    schedule: Schedule | None = None,
    error: tuple[str, str] = ("", ""),
    is_success: bool = False,
) -> Info:
    """Return the keys of an end without a measurement, with the types they have in every end."""
    return {
        "status": status,
        "speedup": 0.0,
        "seconds": 0.0,
        "baseline_seconds": 0.0,
        "samples": (),
        "schedule": "" if schedule is None else str(schedule),
        "error_type": error[0],
        "error_details": error[1],
        "is_success": is_success,
    }


def measured_info(evaluation: Evaluation) -> Info:
    """Return the keys of an end with a measurement."""
    return {
        "status": evaluation.status.value,
        "speedup": float(evaluation.speedup),
        "seconds": float(evaluation.seconds),
        "baseline_seconds": float(evaluation.baseline_seconds),
        "samples": tuple(float(sample) for sample in evaluation.samples),
        "schedule": str(evaluation.schedule),
        "error_type": evaluation.error_type,
        "error_details": evaluation.error_details,
        "is_success": evaluation.is_ok,
    }
