"""Prediction of a region's gain: the automatic schedule beside the source, as models expect it.

The models of :mod:`polygym.autoschedule` look at the loops of both orders under a mapping: the
source's in sequence, the automatic one under the default mapping, in one thread. They take from a
tenth of a second to some seconds for a region.
"""

from collections.abc import Mapping

from polygym.autoschedule.schedule_choice import (
    PlanningTarget,
    choose_schedule,
    features_of,
    predicted_gains,
)
from polygym.errors import PolygymError
from polygym.ir.scop import Scop
from polygym.mapping.machine import this_machine
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule

_MOST_STATEMENTS = 40


def predicted_gain(scop: Scop, sizes: Mapping[str, int]) -> float | None:
    """Return the factor that models expect of the automatic schedule; None where they do not say.

    It is at least 1: where nothing is faster, the source stays.
    """
    if len(scop.statements) > _MOST_STATEMENTS:
        return None
    machine = this_machine()
    known = dict(sizes)
    try:
        chosen = choose_schedule(scop, known, DEFAULT_MAPPING, machine).schedule
        cases = (
            (original_schedule(scop), SEQUENTIAL_MAPPING),
            (chosen, DEFAULT_MAPPING),
        )
        features = [
            features_of(LegalSchedule(scop, schedule), PlanningTarget(known, mapping, machine))
            for schedule, mapping in cases
        ]
    except PolygymError:
        return None
    gain = predicted_gains(features)[1]
    return None if gain is None else max(1.0, float(2.0**gain))
