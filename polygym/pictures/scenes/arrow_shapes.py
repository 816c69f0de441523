"""The shape of arrows: from one dot to another, round those that stand in between.

An arrow is a quadratic Bézier curve from a to b with a control point c beside the middle,

    p(t) = (1 - t)²·a + 2t(1 - t)·c + t²·b,    c = (a + b)/2 + h·|b - a|·n,

where n is the unit normal to the left of b - a, and the bend h is 0 unless the straight line would
pass over a third dot. The curve begins and ends outside of the dots, and the tip is a triangle. All
lengths are pixels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygym.pictures.scenes.projection import PixelPoint

Floats: TypeAlias = NDArray[np.float64]

_TIP_LENGTH, _TIP_HALF_WIDTH = 6.5, 2.7
_SAMPLES = np.linspace(0.0, 1.0, 11)[:, None]

# A line that comes closer than this to a third dot goes round it.
_MIN_DISTANCE = 3.5
_BEND = 0.16


@dataclass(frozen=True, slots=True)
class ArrowShape:
    """The line of an arrow, as points on it, and the corners of its tip."""

    line: Floats
    tip: Floats


def arrow_shape(
    source: PixelPoint, sink: PixelPoint, dots: Floats, radius: float, bend: float = 0.0
) -> ArrowShape:
    """Return the shape of an arrow between two of the dots (an array of n × 2 pixels).

    ``bend`` is used as given when it is not 0; otherwise the arrow is bent if it must be.
    """
    a, b = np.array(source), np.array(sink)
    along = b - a
    distance = float(np.hypot(*along))
    if distance < 1e-9:
        return ArrowShape(np.array([a, a]), np.array([a, a, a]))
    direction = along / distance
    normal = np.array([-direction[1], direction[0]])
    if not bend and _is_blocked(a, direction, normal, distance, dots):
        bend = _BEND
    control = (a + b) / 2 + bend * distance * normal
    # A dot's rim is left and met in the direction of the control point.
    start = a + _unit(control - a) * min(radius, distance / 3)
    end = b - _unit(b - control) * min(radius, distance / 3)
    tip_direction = _unit(end - control)
    length = min(_TIP_LENGTH, distance / 2)
    base = end - tip_direction * length
    side = np.array([-tip_direction[1], tip_direction[0]]) * _TIP_HALF_WIDTH * length / _TIP_LENGTH
    tip = np.array([end, base + side, base - side])
    if not bend:
        return ArrowShape(np.array([start, base]), tip)
    t = _SAMPLES
    return ArrowShape((1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * base, tip)


def _unit(vector: Floats) -> Floats:
    size = float(np.hypot(*vector))
    return vector / size if size else vector


def _is_blocked(
    a: Floats, direction: Floats, normal: Floats, distance: float, dots: Floats
) -> bool:
    """Whether a dot other than the ends lies on the straight line."""
    relative = dots - a
    ahead = relative @ direction
    aside = np.abs(relative @ normal)
    between = (ahead > _MIN_DISTANCE) & (ahead < distance - _MIN_DISTANCE)
    return bool(np.any(between & (aside < _MIN_DISTANCE)))


def points_array(spots: Sequence[PixelPoint]) -> Floats:
    """Return spots as an array of n × 2 pixels, also when there are none."""
    return np.array(spots, dtype=np.float64).reshape(-1, 2)
