"""Loops in LLVM IR.

===========================  ==================================================================
``emit_scalar_replacement``  loops whose elements are in registers
``emit_split_accumulators``  reductions in several accumulators and lanes; extremes as integers
``emit_data_bounds``         bounds of loops that are read from memory
``emit_loop_carried``        values of earlier iterations in registers
``emit_parallel``            loops as functions that threads run
``reduction_copies``         copies of reduced arrays, one for each chunk of a parallel loop
``thread_slots``             slots of threads in private arrays
===========================  ==================================================================
"""
