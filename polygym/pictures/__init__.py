"""Pictures: a program's instances and dependences, and a dimension of its schedule space.

``render`` makes an array of pixels of a ``Scene`` and ``save`` writes it to a file. ``scenes`` are
pictures of instances and spaces, ``charts`` those of searches, ``term_tree`` is a term; ``style``
has colours and letters, and ``page`` is the sheet with its text.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.pictures.charts.best_speedups import SpeedupGroup, best_speedups_picture
    from polygym.pictures.charts.chart_style import Picture
    from polygym.pictures.charts.speedup_distribution import (
        SpeedupDistribution,
        distribution_picture,
    )
    from polygym.pictures.page import HEIGHT, WIDTH
    from polygym.pictures.scenes.canvas import Scene, render, save
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "HEIGHT",
    "WIDTH",
    "Picture",
    "Scene",
    "SpeedupDistribution",
    "SpeedupGroup",
    "best_speedups_picture",
    "distribution_picture",
    "render",
    "save",
]
