"""Loop transformations: steps from one legal schedule to another, by the names of loops.

====================  ==============================================================================
``candidates``        Steps that a state offers, legal or not, in a fixed order
``construction``      Constructions in progress: the state so far, and the steps taken
``edge_rows``         Rows of statements that move into a loop beside them
``inverse``           Steps that lead from a state to a given schedule
``iteration_blocks``  Legality of steps that run some iterations together, for their number
``legality``          Legality of many schedules at once, from the generators of the dependences
``loop_fronts``       Rows of loops in a construction: one loop with the target's rows
``loop_fusion``       Fusion of loops that have rows of the target, and of nodes in them
``loop_marks``        Marks on loops, and the mapping that they are
``loop_tree``         Loop trees: the loops of a schedule, with names that last
``mapping_steps``     Steps about the mapping: the orders that they permit, and their marks
``node_order``        Rows of constants in a construction: nodes move before others
``parsing``           Steps read from their text
``program``           Facts about a program: its versions, and the price of storage
``program_trees``     Loop trees of divided statements and of copied arrays
``reaching``          Construction of a target tree by steps, each legal in its turn
``same_order``        Equality of two loop trees as orders of execution
``sentences``         Sentences about steps, one each and one for all
``shortening``        Shorter sequences of steps with the same result
``simple_tree``       Loop trees without loops that order nothing
``state``             States: a loop tree, its mapping, its storage, and how it came about
``steps``             Transformation steps as values with a text
``tree_regions``      Regions in which two loop trees of a program differ
``tree_steps``        Effects of steps on a loop tree
====================  ==============================================================================
"""
