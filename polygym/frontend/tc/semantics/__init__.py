"""Semantics of comprehensions: names, types, functions, affine expressions.

``name_resolution`` finds the meaning of names, ``environment`` holds it with the tensors;
``types`` computes types, ``functions`` lists the functions, ``affine`` reads affine expressions.
``known_shapes`` has the sizes that declarations give; ``canonical`` erases names, and
``identifiers`` makes names that C and isl accept.
"""

__all__: list[str] = []
