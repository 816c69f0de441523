"""LLVM IR, as it is emitted → operations as C has them.

Branches whose conditions are known, and what becomes unreachable, are left out. Several
instructions that C says in one word become one operation::

    select (a < b), a, b                     → min a b
    shuffle (insert x, 0), 0 0 0 0           → splat x
    (0, 1, 2, 3) < splat n                   → the first n lanes
    gather (base + splat g * (0, 1, 2, 3))   → a strided load
    trunc (add (zext x), (zext y))           → add x, y

===============  ======================================================================
``function``     a function: blocks, phis, instructions
``block_order``  the order in which blocks are lifted
``builder``      operations, appended to a block
``constants``    types and constants
``masks``        comparisons of lanes, the first n lanes
``selections``   selections, minima, maxima
``vectors``      insertions, shuffles, extractions, conversions
``narrowing``    integer lanes at the width of what they come from
``memory``       loads and stores: whole, of some lanes, with strides or offsets
``calls``        functions, helpers, intrinsics
===============  ======================================================================
"""
