"""Schedule trees: from a legal schedule to the tree of loops that code is generated for.

========================  =========================================================================
``tree``                  the types: bands of loops that may be permuted, sequences, leaves
``where``                 for which tiles a branch is
``part``                  what the values of loops are sums of: rows, numbers of tiles
``printer``               trees as text
``build``                 the tree of a schedule, found from the dependences
``isl_tree``              a tree as isl's, which makes loops of it
``plan``                  the tree of a mapping: the walk that strings everything below together
------------------------  -------------------------------------------------------------------------
``setting``               what decisions depend on, beside the loops: program, mapping, machine
``memory``                what is remembered while one schedule is planned under many mappings
``surroundings``          what is around a part of the tree, on the way down
``pairs``                 what transformations ask about dependences
``moves``                 how accesses move with each loop
``trips``                 how many iterations a loop has
``chain``                 whether every iteration of the innermost loop waits for the one before
``hold``                  what registers may hold, decided exactly
``model``                 numbers: copies and tiles from registers and caches
------------------------  -------------------------------------------------------------------------
``tile``, ``levels``      tiles of a band, in one level or two
``wavefront``             tiles along diagonals, and diamonds
``tile_choice``           how large the tiles of a band are
``sink``, ``through``     points that move down, into the branches or through the band below
``sink_partly``           where only some of a band's points may move down: the outer ones stay
``roles``                 which loop of a band runs in vectors, in copies, with registers
``streaming``             sums that run through memory row by row instead
``across``                recurrences along rows in lanes, one row in each: whether that pays
``skewed``                diagonals that may run in vectors, through copies in which they are rows
``group``                 the statements that share innermost loops: their roles, what they hold
``copy_choice``           how many iterations run together
``free_tiles``            tiles in which nothing is waited for but terms of sums
``free_terms``            terms of sums that need nothing of their tile run before it
``tile_numbers``          the numbers of tiles as isl's sets, and how to tell some
``point_order``           the order of points that a mapping asks for, by the numbers of loops
``permutable``            which loops may change places
``points``                which members run innermost, and whether statements part ways first
``vector_choice``         which loop around a sum runs in vectors: the fewest cycles
``sum_choice``            what one statement does around the loops of its sum
``reduction``             sums over several loops, their elements in registers through all of them
``share``                 the outermost coincident loops in threads
``share_sums``            loops in threads that wait for sums alone, with copies of what is reduced
========================  =========================================================================
"""

__all__: list[str] = []
