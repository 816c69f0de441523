"""Schedule spaces: the legal rows of a schedule, as generators of polyhedra.

=====================  ===========================================================================
``cone``               The cone of rows that weakly satisfy some dependences, decomposed
``construction``       Algorithm 1
``coordinates``        Coordinates of a schedule space
``exploration``        Algorithm 2
``farkas``             Farkas' lemma by generators: the conditions of a dependence on one row
``generators``         Generators of a polyhedron (vertices
``polyhedra``          The polyhedra of a program's schedule rows, with a memo of every answer
``relative_interior``  A point in the relative interior of a cone, by linear programs
``sampling``           A sample of the extreme rays and vertices of a polyhedron that has too many
=====================  ===========================================================================
"""

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
