"""Models of devices: what a block may take, and how many blocks keep a device busy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

WARP = 32
"""The threads of a warp."""


@dataclass(frozen=True, slots=True)
class DeviceModel:
    """What matters of a device for a mapping; memory in bytes, bandwidth in bytes a second."""

    name: str
    target: str
    multiprocessors: int
    shared_per_block: int
    shared_per_multiprocessor: int
    registers_per_multiprocessor: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int
    bandwidth: float


H100 = DeviceModel("H100", "sm_90", 132, 232_448, 233_472, 65_536, 2048, 32, 3.35e12)
A100 = DeviceModel("A100", "sm_80", 108, 166_912, 167_936, 65_536, 2048, 32, 1.555e12)
MODELS = {model.name: model for model in (H100, A100)}
"""The devices that are known, by name."""

_USUAL_THREADS = 256


def default_block(model: DeviceModel, trips: Sequence[int]) -> list[int]:
    """Return the threads along x, y and z for loops of so many iterations.

    A block has up to 256 threads, a warp at least along x if there are so many iterations, and
    fewer where blocks would else be too few for all multiprocessors.

    >>> default_block(H100, [4096, 4096]), default_block(H100, [5, 3]), default_block(H100, [9000])
    ([32, 8], [8, 4], [64])
    """
    most = _USUAL_THREADS
    while most > WARP and prod(trips) // most < 2 * model.multiprocessors:
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
