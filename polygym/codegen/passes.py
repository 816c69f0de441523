"""The passes of code generation, in their order: one table.

A legal schedule becomes a tree, the tree becomes loops, the loops become LLVM IR::

    build  plan  |  generate  pack_tiles  sink_reduction_init  separate_full_tiles
                 |  recurrence_lanes  skewed_copies  unroll_jam  vectorize  pack_arrays
                 |  split_accumulators  privatize  streams  |  emit  optimize

A pass is a pure function of the result before it and of the request
(:mod:`polygym.codegen.loopir.pass_types`); its module exports it. :mod:`polygym.codegen.pipeline`
runs the table, checks isl's loops and the last ones, and falls back to simpler mappings.
``polygym show PROGRAM --after PASS`` prints the result of a pass.
"""

from collections.abc import Hashable
from typing import Any

from polygym.codegen.generation import loop_generation
from polygym.codegen.llvm import emit_module, jit
from polygym.codegen.loopir.ir import LoopProgram
from polygym.codegen.loopir.pass_types import Pass
from polygym.codegen.recurrences.recurrence_lanes import transform as recurrence_lanes
from polygym.codegen.recurrences.skewed_copies import transform as skewed_copies
from polygym.codegen.recurrences.streams import transform as streams
from polygym.codegen.transforms import (
    accumulators,
    array_packing,
    factor_tiles,
    full_tile_separation,
    privatization,
    reduction_init,
    unroll_and_jam,
    vectorization,
)
from polygym.codegen.tree import build
from polygym.codegen.tree.ir import Tree
from polygym.codegen.tree.planning import plan
from polygym.mapping.mapping import Mapping

BUILD, PLAN, GENERATE = build.PASS, plan.PASS, loop_generation.PASS
LOOP_PASSES: tuple[Pass[LoopProgram, LoopProgram], ...] = (
    factor_tiles.PASS,
    reduction_init.PASS,
    full_tile_separation.PASS,
    recurrence_lanes.PASS,
    skewed_copies.PASS,
    unroll_and_jam.PASS,
    vectorization.PASS,
    array_packing.PASS,
    accumulators.PASS,
    privatization.PASS,
    streams.PASS,
)
EMIT, OPTIMIZE = emit_module.PASS, jit.PASS

PASSES: tuple[Pass[Any, Any], ...] = (BUILD, PLAN, GENERATE, *LOOP_PASSES, EMIT, OPTIMIZE)
"""All of them, in their order."""


def code_key(planned: Tree, mapping: Mapping) -> Hashable:
    """Return a key of the code of a planned schedule at given sizes: equal keys, equal code.

    Many mappings plan the same loops: tiles larger than the loop, wavefronts of one tile.
    """
    enabled = tuple([row.is_enabled(mapping) for row in LOOP_PASSES])
    threads = mapping.threads if mapping.is_parallel else 1
    return planned, enabled, jit.optimization_level(mapping), threads, mapping.reassociate
