"""Models of devices: what a block may take, and how many blocks keep a device busy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

WARP = 32
"""The threads of a warp."""


@dataclass(frozen=True, slots=True)
class DeviceModel:
    """A device as mappings see it; memory in bytes, bandwidth in bytes a second."""

    name: str
    target: str
    multiprocessors: int
    shared_per_block: int
    shared_per_multiprocessor: int
    registers_per_multiprocessor: int
    threads_per_multiprocessor: int
    bandwidth: float


H100 = DeviceModel("H100", "sm_90", 132, 232_448, 233_472, 65_536, 2048, 3.35e12)
A100 = DeviceModel("A100", "sm_80", 108, 166_912, 167_936, 65_536, 2048, 1.555e12)
MODELS = {model.name: model for model in (H100, A100)}
"""The devices that are known, by name."""
_FIRST_OF_H100 = 90


def model_for(architecture: str) -> DeviceModel:
    """Return the model for GPUs of an architecture: that of H100 from its own on.

    >>> [model_for(name).name for name in ("sm_80", "sm_90", "sm_100")]
    ['A100', 'H100', 'H100']
    """
    number = architecture.partition("_")[2]
    return H100 if number.isdigit() and int(number) >= _FIRST_OF_H100 else A100


_USUAL_THREADS = 256
LEAST_POINTS = _USUAL_THREADS
"""Blocks with fewer points along x and y have some along z."""
_BLOCKS_PER_MULTIPROCESSOR = 2
_SQUARE_SIDE = 16
_MOST_COPIES_ALONG = 8


def default_block(model: DeviceModel, trips: Sequence[int], others: int = 1) -> list[int]:
    """Return the threads along x, y and z for loops of so many iterations.

    A block has up to 256 threads, a warp at least along x if there are so many iterations, and
    fewer where blocks would else be too few for all multiprocessors; ``others`` are the blocks
    along further loops.

    >>> default_block(H100, [4096, 4096]), default_block(H100, [5, 3]), default_block(H100, [9000])
    ([32, 8], [8, 4], [32])
    """
    most = _USUAL_THREADS
    enough = _BLOCKS_PER_MULTIPROCESSOR * model.multiprocessors
    while most > WARP and others * prod(trips) // most < enough:
        most //= 2
    result = [1] * len(trips)
    for axis, count in enumerate(trips):
        room = most // prod(result)
        limit = WARP if axis == 0 and len(trips) > 1 else room
        while result[axis] < min(count, limit, room):
            result[axis] *= 2
    # What later axes leave goes to x.
    while 2 * prod(result) <= most and result[0] < trips[0]:
        result[0] *= 2
    return result


def block_for_reuse(
    model: DeviceModel, trips: Sequence[int], others: int = 1
) -> tuple[list[int], list[int]]:
    """Return threads and points along the axes where elements are used along x and along y.

    Blocks are square, so that few elements serve many points, and threads have as many points as
    leave a block for every multiprocessor.

    >>> block_for_reuse(H100, [4096, 4096]), block_for_reuse(H100, [512, 512])
    (([16, 16], [128, 128]), ([16, 16], [32, 32]))
    """
    block = [1] * len(trips)
    for axis, count in enumerate(trips):
        room = _USUAL_THREADS // prod(block)
        while block[axis] < min(count, _SQUARE_SIDE if axis == 0 else room, room):
            block[axis] *= 2
    tile = list(block)
    for copies in (2, 4, _MOST_COPIES_ALONG):
        for axis in (1, 0):
            larger = [*tile]
            larger[axis] = copies * block[axis]
            blocks = prod(-(-count // size) for count, size in zip(trips, larger, strict=True))
            if larger[axis] <= trips[axis] and others * blocks >= model.multiprocessors:
                tile = larger
    return block, tile
