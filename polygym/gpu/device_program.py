"""The device IR: a program as launches of kernels, and a kernel as code of threads and barriers.

On the host there are loops, conditions and launches, in order. A kernel runs for every block of its
grid and every thread of its block; the numbers of a block and of a thread are variables with
reserved names (:data:`BLOCK_VARIABLES`, :data:`THREAD_VARIABLES`).

The body of a kernel has two levels. The outer one is the same for all threads of a block: its loops
and conditions depend on no number of a thread, and barriers stand here alone. So no barrier is ever
reached by some threads of a block and missed by others. The inner one is ordinary loop IR
(:mod:`polygym.codegen.loopir.ir`) without annotations, which a thread runs without waiting.

A matrix product in tiles of 16 by 16 (C is in a register of each thread):

    launch grid (M / 16, N / 16), block (16, 16)
      threads:  C[16 block.y + thread.y][16 block.x + thread.x] = 0
      for k0 = 0; k0 < K; k0 += 16            # the same for all threads: UniformLoop
        threads:  As[thread.y][thread.x] = A[...]; Bs[thread.y][thread.x] = B[...]
        barrier
        threads:  for k = 0 .. 15: C[...] += As[thread.y][k] * Bs[k][thread.x]
        barrier

Both unions are closed: match exhaustively.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from polygym.codegen.loopir.ir import Index, LoopProgram, Node

BLOCK_VARIABLES = ("block.x", "block.y", "block.z")
"""The numbers of a block in the grid, each from 0 to the extent of the grid less 1."""
THREAD_VARIABLES = ("thread.x", "thread.y", "thread.z")
"""The numbers of a thread in its block; 32 threads that follow in x are a warp."""
LARGEST_GRID = (2**31 - 1, 65_535, 65_535)
"""The most blocks of a grid along x, y and z on every device."""
STATIC_SHARED_BYTES = 48 * 1024
"""The most shared memory of a block that needs no leave of the driver."""
ALIGNMENT = 16
"""Arrays begin at a multiple of so many bytes, as vectors of 128 bits have to."""


def aligned(size: int) -> int:
    """Return how many bytes an array takes in shared memory, behind which others begin.

    >>> aligned(16), aligned(17)
    (16, 32)
    """
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True, slots=True)
class ThreadCode:
    """Code that every thread runs; guards and loops may depend on its number."""

    node: Node


@dataclass(frozen=True, slots=True)
class Barrier:
    """All threads of a block have come here before any goes on, and see what was written."""


@dataclass(frozen=True, slots=True)
class UniformLoop:
    """A loop that all threads of a block run together: ``lower`` to ``upper``, both included."""

    variable: str
    lower: Index
    upper: Index
    step: int
    body: tuple[KernelNode, ...]


@dataclass(frozen=True, slots=True)
class UniformGuard:
    """Code that runs where a condition holds that is the same for all threads of a block."""

    condition: Index
    body: tuple[KernelNode, ...]


KernelNode: TypeAlias = ThreadCode | Barrier | UniformLoop | UniformGuard


@dataclass(frozen=True, slots=True)
class Kernel:
    """The code of a launch.

    ``grid`` are the extents of the grid in x, y and z, of parameters and of counters of loops on
    the host; ``block`` are those of a block. ``shared`` names arrays of the program of which every
    block has a copy in shared memory, ``local`` those of which every thread has one: registers
    where subscripts are constants after unrolling. ``atomic`` names statements whose update
    (a sum, a product, a minimum or a maximum) other threads may make at the same time.
    """

    name: str
    grid: tuple[Index, Index, Index]
    block: tuple[int, int, int]
    body: tuple[KernelNode, ...]
    shared: tuple[str, ...] = ()
    local: tuple[str, ...] = ()
    atomic: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a kernel; the next one sees what it has written."""

    kernel: Kernel


@dataclass(frozen=True, slots=True)
class HostLoop:
    """A loop on the host: ``lower`` to ``upper``, both included."""

    variable: str
    lower: Index
    upper: Index
    step: int
    body: tuple[HostNode, ...]


@dataclass(frozen=True, slots=True)
class HostGuard:
    """The work of the host where a condition holds."""

    condition: Index
    body: tuple[HostNode, ...]


HostNode: TypeAlias = Launch | HostLoop | HostGuard


@dataclass(frozen=True, slots=True)
class DeviceProgram:
    """A program for a device.

    ``program`` has the Scop with all arrays and statements, those that were made for the device
    too, their extents and the sizes; its body is what the host would run without a device.
    ``fallback`` says why something slower stands here than was asked for, if so.
    """

    program: LoopProgram
    body: tuple[HostNode, ...]
    fallback: str = ""
