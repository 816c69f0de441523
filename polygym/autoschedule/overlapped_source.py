"""The source's passes in overlapped tiles, which threads share: temporaries stay in a cache.

::

    for i: for j: blur[i][j] = …          parallel for tile:   (blur private)
    for i: for j: dx[i][j] = blur … →       for the rows of the tile, and one more at each end: …
    for i: for j: out[i][j] = dx …          for one more row at each end: …    for its rows: …

Whole images between passes go through memory, or through the last cache. Strips of them stay in a
core's level 2 cache; their edges are computed twice
(:mod:`polygym.poly.transform.storage.overlapped_tiles`). The inner loops are the source's, either
as LLVM compiles them or with the vectors that the default mapping gives them.

Example, corners by Harris of 2048 × 2048 floats in two threads: 4.8 ms without tiles, 3.8 ms with.
"""

from collections.abc import Iterator
from dataclasses import replace

from polygym.autoschedule.threaded_source import source_in_threads, with_private_temporaries
from polygym.errors import InputError
from polygym.ir.scop import Scop
from polygym.mapping.machine import this_machine
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.mapping.sizes import Sizes, scop_sizes
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.transform.storage.memory_cost import array_bytes
from polygym.poly.transform.storage.overlapped_tiles import temporary_rows, with_overlapped_tiles
from polygym.poly.transform.storage.private_plan import private_plan
from polygym.programs import Program

TILES = (64, 32, 16, 8)
"""Rows of a tile, the best first: fewer rows are computed twice in larger ones."""

MIN_TILES_PER_THREAD = 4


def overlapped_sources(
    program: Program, mapping: Mapping, memory_limit: int
) -> Iterator[tuple[Program, Mapping]]:
    """Yield the program in overlapped tiles with its mappings; nothing if it has no such tiles.

    Raises:
        LimitError: isl would take too long.
    """
    sizes = scop_sizes(program.scop, dict(program.parameters))
    try:
        tile = _tile(program.scop, sizes, mapping.threads)
        if tile is None:
            return
        tiled = with_overlapped_tiles(program.scop, tile)
    except InputError:
        return
    plan = replace(private_plan(tiled, sizes, memory_limit), overlapped_tile=tile)
    stored = with_private_temporaries(program, plan, memory_limit)
    sharing = None if stored is None else source_in_threads(stored, mapping.threads)
    if stored is not None and sharing is not None:
        yield stored, sharing
        own = replace(DEFAULT_MAPPING, threads=mapping.threads, parallel=sharing.parallel, tile=())
        yield stored, own


def _tile(scop: Scop, sizes: Sizes, threads: int) -> int | None:
    """Return how many rows a tile has, None if there are no temporary rows, or too few."""
    arrays = [scop.array(name) for name in temporary_rows(scop)]
    if not arrays:
        return None
    rows = max(evaluate_extent(array.extents[0], sizes) for array in arrays)
    row_bytes = sum(
        array_bytes(array, sizes) // max(1, evaluate_extent(array.extents[0], sizes))
        for array in arrays
    )
    for tile in TILES:
        is_small = (tile + 2) * row_bytes <= this_machine().level_2
        if is_small and rows >= tile * threads * MIN_TILES_PER_THREAD:
            return tile
    return None
