"""Loop transformations: steps from one legal schedule to another, by the names of loops.

====================  ============================================================================
``candidates``        Steps that a state offers, legal or not, in a fixed order
``edge_rows``         Rows of statements that move into a loop beside them
``explanation``       Explanations of steps: their effect, or the broken dependence
``legality``          Legality of many schedules at once, from the generators of the dependences
``loop_marks``        Marks on loops, and the mapping that they are
``loop_tree``         Loop trees: the loops of a schedule, with names that last
``state``             States: a loop tree, its mapping, its storage, and how it came about
``steps``             Transformation steps as values with a text
``tree_steps``        Effects of steps on a loop tree
====================  ============================================================================
"""
