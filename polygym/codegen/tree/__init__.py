"""Schedule trees: from a legal schedule to the tree of loops that code is generated for.

=================  =====================================================================
``ir``             bands, sequences, leaves, predicates of branches, visitors
``build``          the tree of a schedule, from its dependences
``loop_context``   the loops around a part of a tree, and the pairs they leave unordered
``planning_memo``  results of planning steps, kept while many mappings are planned
``isl_tree``       a tree as isl's schedule tree
``printer``        trees as text
``analysis``       access strides, trip counts, loop roles, default sizes
``inner_loops``    innermost loops: grouping, order, register blocks, reductions
``planning``       the walk that plans tiles, threads and innermost loops
``transforms``     tiling, sinking, threads
=================  =====================================================================
"""
