"""Schedule trees: from a legal schedule to the tree of loops that code is generated for.

``tree`` has the types, ``build`` finds the tree of a schedule, ``pairs`` is what the
transformations ask about dependences; ``sink``, ``tile``, ``wavefront`` and ``arrange`` transform,
``plan`` strings them together, ``isl_tree`` hands the result to isl.
"""
