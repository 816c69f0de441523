"""The entries of a mapping as numbers: what a model of one program may see beside features.

Features mean the same for every program, and leave out what mostly does not matter. What does in
one program its own measurements say: that it wants tiles of 48, or its iterations dealt out
statically. Numbers of a mapping mean nothing for another program, so no other model sees them.
"""

from __future__ import annotations

import numpy as np

from polygym.compiler.codegen.common.mapping import Mapping, Sharing
from polygym.cost.nests import Floats

MOST_TILED = 6
MOST_ORDERED = 2

ENTRIES = (
    *(f"tile_{k}" for k in range(MOST_TILED)),
    *(f"outer_tile_{k}" for k in range(MOST_TILED)),
    "tile_is_free",
    *("sink", "separate", "registers", "pack", "wavefront", "diamond"),
    *("vector_bits", "vector_copies", "unroll_jam", "parallel"),
    *(f"order_{k}" for k in range(MOST_ORDERED)),
)
"""What the columns of :func:`configuration` are; -1 stands for what is left to the model. Orders
begin with the loop that runs innermost."""

_SHARING = {one: number for number, one in enumerate(Sharing)}


def configuration(mapping: Mapping) -> Floats:
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
    found = (
        *_padded(mapping.tile or ()),
        *_padded(mapping.outer_tile or ()),
        *switches,
        *(-1 if one is None else one for one in numbers),
        _SHARING[mapping.parallel],
        *(*mapping.order[::-1], *(-1,) * MOST_ORDERED)[:MOST_ORDERED],
    )
    return np.array(found, dtype=np.float64)


def _padded(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return (*sizes, *(0,) * MOST_TILED)[:MOST_TILED]
