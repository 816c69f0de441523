"""What candidates cost: features of their loops, and models that learn from measurements.

``reach`` is what statements do at given sizes, whatever the schedule; ``nests`` the loops around
them in a planned tree; ``columns`` numbers of these, and ``candidate`` the numbers of a schedule
under a mapping. ``model`` says what models are and learn from; ``trees`` are the boosted ones,
whose ``validation`` asks about programs that they have not seen; one is ``shipped`` with the
package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.cost.candidate import NAMES, Features, features
    from polygym.cost.model import Acquisition, Card, Model, Objective, Samples, acquired
    from polygym.cost.trees import TreeModel, TreeOptions, train
else:
    __getattr__ = lazily(
        __name__,
        {
            "candidate": ("NAMES", "Features", "features"),
            "model": ("Acquisition", "Card", "Model", "Objective", "Samples", "acquired"),
            "trees": ("TreeModel", "TreeOptions", "train"),
        },
    )

__all__ = [
    "NAMES",
    "Acquisition",
    "Card",
    "Features",
    "Model",
    "Objective",
    "Samples",
    "TreeModel",
    "TreeOptions",
    "acquired",
    "features",
    "train",
]
