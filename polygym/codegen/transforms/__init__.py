"""Transformations of loops; a module of the pass table exports its ``PASS``.

========================  =====================================================================
``tile_packing_plan``     tiles that are read down columns: which, and where they are filled
``packed_tiles``          a packed tile: its rows, the loops and statements that copy it
``tile_packing``          the plan carried out
``factor_tiles``          factors that all vectors of a sum share in tiles; the pass ``pack_tiles``
``reduction_init``        initialization of a reduction, moved right before its loops
``full_tile_separation``  full tiles separated from partial ones
``unroll_and_jam``        unroll-and-jam, with a remainder loop
``vectorization``         vectorization, with a masked remainder
``store_alignment``       where a vector loop begins so that its stores are aligned
``array_packing``         transposed copies of whole arrays
``accumulators``          several accumulators per reduction
``privatization``         a copy of an array for each thread
========================  =====================================================================
"""
