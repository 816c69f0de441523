"""Pictures: a program's instances and dependences, and a dimension of its schedule space.

``render`` makes an array of pixels of a ``Scene`` and ``save`` writes it to a file. The layer
stands on ``poly``: ``instances`` and ``sizes`` say what is shown, ``order`` which arrows are
needed, ``plane``, ``arrows`` and ``scale`` where things are; ``domain``, ``frame``, ``legend``,
``space`` and ``coordinates`` draw them, ``notes`` writes text in the place of a space, ``style``
holds colours and letters, ``page`` is the sheet, and ``canvas`` puts all on one. Charts of searches
share ``chart``: ``convergence`` is that of one search; ``bests``, ``limits``, ``distribution``,
``policies`` and ``multiples`` are those of sweeps and collections. A ``tree`` is a term.
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
    from polygym.pictures.scenes.canvas import HEIGHT, WIDTH, Scene, render, save
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
