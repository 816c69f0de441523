"""Transformations of schedule trees.

=======================  ======================================================================
``tiling``               tiles in one or two levels, wavefronts, diamonds
``sinking``              points of all or of the inner loops moved into branches or bands below
``parallelization``      the outermost coincident loops in threads
``parallel_reductions``  reductions in threads, with copies of the reduced arrays
=======================  ======================================================================
"""
