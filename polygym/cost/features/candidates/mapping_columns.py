"""The options of a mapping as numbers: features for a model of one program alone.

Features mean the same for every program, and leave out what mostly does not matter. What does in
one program its own measurements show: that it wants tiles of 48, or its iterations dealt out
statically. Numbers of a mapping mean nothing for another program, so no other model reads them.
"""

import numpy as np

from polygym.cost.features.loops.nests import Floats
from polygym.mapping.knobs import COLUMNS
from polygym.mapping.mapping import Mapping

MAPPING_COLUMNS = tuple(column.name for _, column in COLUMNS)
"""The names of the columns of :func:`mapping_vector`; -1 stands for a default. Orders begin with
the loop that runs innermost."""


def mapping_vector(mapping: Mapping) -> Floats:
    """Return the numbers of a mapping.

    >>> vector = mapping_vector(Mapping(tile=(32, 8), unroll_jam=4))
    >>> names = ("tile_1", "tile_2", "unroll_jam")
    >>> [float(vector[MAPPING_COLUMNS.index(name)]) for name in names]
    [8.0, 0.0, 4.0]
    """
    return np.array([column(getattr(mapping, knob.name)) for knob, column in COLUMNS], np.float64)
