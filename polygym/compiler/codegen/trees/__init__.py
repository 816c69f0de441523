"""Schedule trees: from a legal schedule to the tree of loops that code is generated for.

``tree`` has the types, ``build`` finds the tree of a schedule, ``pairs`` and ``surroundings`` are
what the transformations ask about dependences. Each transformation is a module: ``tile``,
``levels`` and ``wavefront`` make tiles, ``sink`` and ``through`` move points down, ``arrange``,
``chain``, ``hold`` and ``points`` order the innermost loops, ``share`` gives threads their loops.
``model`` and ``tile_choice`` say how large, ``plan`` strings everything together, ``isl_tree``
hands the result to isl.
"""

__all__: list[str] = []
