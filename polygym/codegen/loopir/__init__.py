"""Loops: what isl makes of a tree, as a small IR, and the passes over it.

======================  ===========================================================================
``ir``                  the types: blocks, loops, conditions, instances, and indices
``generate``            a tree becomes isl's loops, and these the IR
``read_ast``            isl's syntax trees as the IR
``speculate``           reads under a condition, made whether it holds or not
``check_order``         by sets: do the loops keep the order of every pair of instances?
``check_by_running``    by running them without arrays: do they follow the tree?
``check_reached``       where that is too much: does each of some instances run, once?
``probes``, ``times``   these instances; when an instance runs, as the tree says
``interpreter``         runs loops, all iterations or a sample of them
``split_points``        where what runs in a loop changes: what a sample must not miss
``check_ranges``        does the arithmetic of indices fit 64 bits?
``check_bounds``        does every access stay inside its array?
``extremes``            the greatest and the least value of an index at a place
----------------------  ---------------------------------------------------------------------------
``peel``                iterations in which subscripts wrap around, apart
``tile_plan``           which tiles go through small turned copies, and where these are made
``steady``              does a nest write what it reads of an array elsewhere?
``tiles``               such a copy: its rows, and the loops that fill it
``tile_pack``           the plan carried out
``shared_factors``      what is the same for all vectors of a sum, and is computed
``term_tiles``          such factors, computed once, in tiles
``move_initialisers``   what sets an element of a sum, right before its terms
``separate``            full tiles apart from partial ones
``row_plan``            which accesses of a recurrence along rows go through turned tiles
``near_rows``           rows near each other, which share a tile there
``dead_copies``         what is copied back for nobody, left out
``turn_rows``           such recurrences in lanes, a row in each
``skew_plan``           which tiles get copies in which the diagonals of an array are rows
``skew_cost``           whether that pays
``skew_tiles``          such copies, and diagonals in vectors
``jam``                 iterations of a loop together, inside the loops below it
``lanes``               iterations of a loop as lanes of vectors
``pack``                copies of whole arrays, their dimensions turned
``part_sums``           sums and maxima along a loop in several chains
``touched``             what the loops touch of an array, as isl's relations
``first_places``        where that begins, and how far it reaches
``private``             a copy for each thread of what is to be private, where that is right
``streams``             what goes to memory past the caches, and what is asked for ahead
----------------------  ---------------------------------------------------------------------------
``index``, ``linear``   arithmetic on indices, as trees and as sums
``nests``               loops directly inside each other
``names``               names of counters, and of what passes add
``alike``               which loops are the same but for where counters begin
``copying``             the statements that copy an element, and copy it back
``scan``                loops over the elements of a set
======================  ===========================================================================

The passes stand in the order in which :mod:`polygym.codegen.passes` runs them.
"""

__all__: list[str] = []
