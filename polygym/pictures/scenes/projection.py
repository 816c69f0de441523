"""Projection of integer coordinates with one to three axes into a box of pixels.

* one axis: to the right;
* two axes: the first to the right, the second up;
* three axes: the first to the right, the second into the depth, the third up, seen in an oblique
  (parallel) projection. With lengths a, b, c in steps, (x, y, z) is drawn at

      (x + 0.46·y, z + 0.36·y).

  The two factors are such that the dots of a lattice of a few steps never fall on one another.

Steps have one length on all axes, except that no axis is shorter than a third of the longest one:
with 0 ≤ x ≤ 4 and 0 ≤ y ≤ 60 the x axis is laid out as if it had 20 steps. The whole is then
stretched to fill its box, in one direction at most 1.8 times as much as in the other.

The shape of arrows: from one dot to another, round those that stand in between.

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

# A place in the picture, in pixels from the lower left.
PixelPoint: TypeAlias = tuple[float, float]

_DEPTH = (0.46, 0.36)

# How much longer a step may become in one direction of the box than in the other.
_MAX_STRETCH = 1.8


@dataclass(frozen=True, slots=True)
class PixelBox:
    """A rectangle of pixels."""

    left: float
    bottom: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Projection:
    """The projection from coordinates to pixels: every axis is a vector of pixels per step.

    ``lowest`` and ``highest`` are the range of every axis; ``origin`` is where the lowest corner
    is drawn.
    """

    lowest: tuple[int, ...]
    highest: tuple[int, ...]
    origin: PixelPoint
    steps: tuple[PixelPoint, ...]

    def pixel(self, place: Sequence[float]) -> PixelPoint:
        """Return where a place is drawn."""
        x, y = self.origin
        for value, low, (right, up) in zip(place, self.lowest, self.steps, strict=True):
            x += (value - low) * right
            y += (value - low) * up
        return x, y

    def corner(self, *ends: bool) -> PixelPoint:
        """Return a corner of the range; a true end is the highest value of its axis."""
        return self.pixel(
            [
                high if end else low
                for end, low, high in zip(ends, self.lowest, self.highest, strict=True)
            ]
        )


def fit_projection(lowest: Sequence[int], highest: Sequence[int], box: PixelBox) -> Projection:
    """Return the projection that fills a box with a range of coordinates."""
    spans = [float(high - low) for low, high in zip(lowest, highest, strict=True)]
    longest = max(spans, default=0.0) or 1.0
    lengths = [min(max(span, longest / 3), longest) if span else 0.0 for span in spans]
    directions = ((1.0, 0.0), _DEPTH, (0.0, 1.0)) if len(spans) == 3 else ((1.0, 0.0), (0.0, 1.0))
    shape = list(zip(lengths, directions, strict=False))
    across = sum(length * right for length, (right, _) in shape) or 1.0
    upwards = sum(length * up for length, (_, up) in shape) or 1.0
    horizontal, vertical = box.width / across, box.height / upwards
    if len(spans) > 1:
        horizontal = min(horizontal, _MAX_STRETCH * vertical)
        vertical = min(vertical, _MAX_STRETCH * horizontal)
    steps = tuple(
        (length / (span or 1.0) * right * horizontal, length / (span or 1.0) * up * vertical)
        for span, (length, (right, up)) in zip(spans, shape, strict=True)
    )
    used = (
        sum(span * right for span, (right, _) in zip(spans, steps, strict=True)),
        sum(span * up for span, (_, up) in zip(spans, steps, strict=True)),
    )
    origin = (box.left + (box.width - used[0]) / 2, box.bottom + (box.height - used[1]) / 2)
    return Projection(tuple(lowest), tuple(highest), origin, steps)


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
