"""Traffic of large private arrays: they stream from the cache in which a thread's copies fit.

Features of candidates take a private array for a scalar, which is right while it is small. Those
that lie in slots (:mod:`polygym.codegen.analysis.private_memory`) are passed over again and again.
Each statement moves one element of each of them per instance: neighbours share lines of the cache.

Example: three arrays of 0.5 MB, each written once and read once in 64 layers of 65,536 points, move
64 · 65,536 · 8 · 6 bytes = 201 MB beyond a level 2 cache of 512 KB, none beyond one of 32 MB.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from polygym.codegen.analysis.private_memory import pooled_arrays, private_array_bytes
from polygym.codegen.loopir.ir import LoopProgram
from polygym.mapping.machine import LAST_LEVEL_CACHE, this_machine


@dataclass(frozen=True, slots=True)
class PrivateTraffic:
    """Bytes that move beyond a core's own caches, and those of them beyond the last cache."""

    shared: float = 0.0
    memory: float = 0.0


def private_traffic(
    program: LoopProgram, instances: Mapping[str, int], threads: int
) -> PrivateTraffic:
    """Return the traffic of large private arrays; ``instances`` counts those of each statement."""
    pooled = pooled_arrays(program)
    if not pooled:
        return PrivateTraffic()
    own = sum(private_array_bytes(program, name) for name in pooled)
    moved = 0.0
    for statement in program.scop.statements:
        touched = {access.array for access in (statement.write, *statement.reads)}
        sizes = (program.scop.array(name).type.size for name in touched.intersection(pooled))
        moved += sum(sizes) * instances.get(statement.name, 0)
    return PrivateTraffic(
        moved if own > this_machine().level_2 else 0.0,
        moved if own * threads > LAST_LEVEL_CACHE else 0.0,
    )
