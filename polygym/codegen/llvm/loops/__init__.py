"""Loops in LLVM IR.

===========================  ======================================================
``emit_scalar_replacement``  loops whose elements are in registers
``emit_split_accumulators``  reductions in several accumulators and lanes
``emit_min_max``             minima and maxima of floats, as integers first
``emit_loop_carried``        values of earlier iterations in registers
``emit_parallel``            loops as functions that threads run
``emit_reduction_copies``    copies of reduced arrays for chunks of a parallel loop
===========================  ======================================================
"""

__all__: list[str] = []
