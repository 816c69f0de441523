"""Families of transformations that few programs need, one package each.

Each package has an analysis, a transformation and, where it needs one, an emitter. Its docstring
names programs on which it fires, which a test checks.

=========================  ========================================================================
``recurrence_lanes``       recurrences along rows, vectorized across rows
``skewed_copies``          diagonals, vectorized through skewed copies of arrays
``streams``                non-temporal stores and prefetching
``early_reduction_terms``  terms of a reduction before the tile that needs them
``independent_tiles``      tiles without recurrences inside
=========================  ========================================================================
"""
