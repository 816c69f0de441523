"""Transformations of schedule trees.

=======================  ========================================================
``tiling``               tiles in one or two levels, wavefronts, diamonds
``sinking``              points moved into branches or through the band below
``partial_sinking``      some loops of a band sink, the outer ones stay
``parallelization``      the outermost coincident loops in threads
``parallel_reductions``  reductions in threads, with copies of the reduced arrays
=======================  ========================================================
"""

__all__: list[str] = []
