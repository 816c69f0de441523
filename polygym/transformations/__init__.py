"""Loop transformations: steps from one legal schedule to another, by the names of loops.

Modules: the loops of a schedule as a tree (``loop_tree``), the steps as values with a text
(``steps``), their effect on the tree (``tree_steps``), legality of many schedules at once
(``legality``), the state with its mapping and storage (``state``), the steps that a state offers
(``candidates``), and the steps that lead to a given schedule (``inverse``).
"""
