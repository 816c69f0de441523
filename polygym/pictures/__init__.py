"""Pictures: a program's instances and dependences, and a dimension of its schedule space.

``render`` makes an array of pixels of a ``Scene`` and ``save`` writes it to a file. The layer
stands on ``poly``: ``instances`` and ``sizes`` say what is shown, ``order`` which arrows are
needed, ``plane``, ``arrows`` and ``scale`` where things are; ``domain``, ``frame``, ``legend``,
``space`` and ``coordinates`` draw them, ``notes`` writes text in the place of a space, ``style``
holds colours and letters, ``page`` is the sheet, and ``canvas`` puts all on one. Charts of searches
share ``chart``: ``convergence`` is that of one search; ``bests``, ``limits``, ``distribution``,
``policies`` and ``multiples`` are those of sweeps and collections. A ``tree`` is a term.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.pictures.bests import Group, bests_picture
    from polygym.pictures.canvas import HEIGHT, WIDTH, Scene, render, save
    from polygym.pictures.chart import Picture
    from polygym.pictures.distribution import Distribution, distribution_picture
else:
    __getattr__ = lazily(
        __name__,
        {
            "bests": ("Group", "bests_picture"),
            "canvas": ("HEIGHT", "Scene", "WIDTH", "render", "save"),
            "chart": ("Picture",),
            "distribution": ("Distribution", "distribution_picture"),
        },
    )

__all__ = [
    "HEIGHT",
    "WIDTH",
    "Distribution",
    "Group",
    "Picture",
    "Scene",
    "bests_picture",
    "distribution_picture",
    "render",
    "save",
]
