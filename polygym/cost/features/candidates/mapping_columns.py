"""The entries of a mapping as numbers: what a model of one program may see beside features.

Features mean the same for every program, and leave out what mostly does not matter. What does in
one program its own measurements say: that it wants tiles of 48, or its iterations dealt out
statically. Numbers of a mapping mean nothing for another program, so no other model sees them.
"""

from __future__ import annotations

import numpy as np

from polygym.cost.features.loops.nests import Floats
from polygym.mapping.mapping import Mapping, WorkSharing

MAX_TILED_LOOPS = 6
MAX_ORDERED_LOOPS = 2

MAPPING_COLUMNS = (
    *(f"tile_{k}" for k in range(MAX_TILED_LOOPS)),
    *(f"outer_tile_{k}" for k in range(MAX_TILED_LOOPS)),
    "tile_is_free",
    *("sink", "separate", "registers", "pack", "wavefront", "diamond"),
    *("vector_bits", "vector_copies", "unroll_jam", "parallel"),
    *(f"order_{k}" for k in range(MAX_ORDERED_LOOPS)),
)
"""What the columns of :func:`mapping_vector` are; -1 stands for what is left to the model. Orders
begin with the loop that runs innermost."""

_PARALLEL_CODES = {sharing: number for number, sharing in enumerate(WorkSharing)}


def mapping_vector(mapping: Mapping) -> Floats:
    """Return the numbers of a mapping.

    >>> found = configuration(Mapping(tile=(32, 8), unroll_jam=4))
    >>> [float(found[ENTRIES.index(name)]) for name in ("tile_1", "tile_2", "unroll_jam")]
    [8.0, 0.0, 4.0]
    """
    switches = (
        mapping.tile is None, mapping.sink, mapping.separate, mapping.registers, mapping.pack,
        mapping.wavefront, mapping.diamond,
    )  # fmt: skip
    numbers = (mapping.vector_bits, mapping.vector_copies, mapping.unroll_jam)
    result = (
        *_padded(mapping.tile or ()),
        *_padded(mapping.outer_tile or ()),
        *switches,
        *(-1 if number is None else number for number in numbers),
        _PARALLEL_CODES[mapping.parallel],
        *(*mapping.order[::-1], *(-1,) * MAX_ORDERED_LOOPS)[:MAX_ORDERED_LOOPS],
    )
    return np.array(result, dtype=np.float64)


def _padded(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return (*sizes, *(0,) * MAX_TILED_LOOPS)[:MAX_TILED_LOOPS]
