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

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.compiler.poly.spaces.completion import complete
    from polygym.compiler.poly.spaces.construct import Dimension, Space, space_of
    from polygym.compiler.poly.spaces.layout import Coordinate, Layout
    from polygym.compiler.poly.spaces.polyhedra import Generators, Limits, Polyhedra
else:
    __getattr__ = lazily(
        __name__,
        {
            "completion": ("complete",),
            "construct": ("Dimension", "Space", "space_of"),
            "layout": ("Coordinate", "Layout"),
            "polyhedra": ("Generators", "Limits", "Polyhedra"),
        },
    )

__all__ = [
    "Coordinate",
    "Dimension",
    "Generators",
    "Layout",
    "Limits",
    "Polyhedra",
    "Space",
    "complete",
    "space_of",
]
