"""Analyses of loops: value ranges, footprints, disjointness.

====================  ==================================================================
``value_ranges``      bounds of index expressions, proved by linear forms
``disjointness``      accesses of a nest that never touch one element, or stay in bounds
``footprint``         elements that loops access, as isl relations, and their origin
``loop_data_bounds``  loops of which most iterations do nothing, by bounds from memory
``private_memory``    memory of private arrays: the stack, or a slot for each thread
====================  ==================================================================
"""
