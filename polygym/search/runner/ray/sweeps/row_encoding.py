"""Rows of a sweep on their way from a node to the driver, as JSON.

An outcome is known by its schedule's text on the way, since its number is the driver's to give. The
programs' names are left out: a job is about one program, which may have another path on the node.
"""

from dataclasses import asdict
from typing import Any

from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.runner.ray.fleet.jobs import Json
from polygym.search.sweep.rows import Timing


def timing_json(timing: Timing) -> Json:
    """Return a timing as plain data; :func:`timing_from_json` reads it back."""
    return {**asdict(timing), "status": timing.status.value}


def timing_from_json(data: Json) -> Timing:
    """Return the timing that :func:`timing_json` wrote."""
    return Timing(
        OutcomeStatus(data["status"]),
        float(data["seconds"]),
        float(data["baseline_seconds"]),
        _samples(data["samples"]),
        _samples(data["baseline_samples"]),
        str(data["detail"]),
    )


def _samples(found: Any) -> tuple[float, ...]:
    return tuple(float(one) for one in found)
