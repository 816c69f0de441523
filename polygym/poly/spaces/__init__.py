"""Schedule spaces: which rows a schedule may have, as generators of polyhedra.

``layout`` fixes what a point means: the coefficients of one row for all statements. ``farkas``
turns every dependence into conditions on such points, by the ``hull`` of its integer points;
``generators`` (the Parma Polyhedra Library, which ``parma`` alone imports) turns conditions into
vertices and rays, ``sampling`` takes over where there are too many of them, in the ``interior`` of
a ``cone`` with linear programs (``lp``). ``polyhedra`` answers all
questions about the rows of a dimension and remembers the answers: which dependences they can carry,
what their generators are. ``construct`` and ``explore`` are the two algorithms that build a space
and pick a schedule from it; ``completion`` gives the schedule the inner dimensions that it lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.poly.spaces.construction import (
        ScheduleSpace,
        SpaceDimension,
        space_from_selections,
    )
    from polygym.poly.spaces.coordinates import Coordinate, CoordinateLayout
    from polygym.poly.spaces.exploration import complete_schedule
    from polygym.poly.spaces.polyhedra import DimensionGenerators, RowPolyhedra, SpaceLimits
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "Coordinate",
    "CoordinateLayout",
    "DimensionGenerators",
    "RowPolyhedra",
    "ScheduleSpace",
    "SpaceDimension",
    "SpaceLimits",
    "complete_schedule",
    "space_from_selections",
]
