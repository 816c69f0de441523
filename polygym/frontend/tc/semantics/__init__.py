"""Semantics of comprehensions: names, types, functions, affine expressions.

``name_resolution`` finds the meaning of names, ``environment`` holds it with the tensors, and reads
affine expressions; ``types`` computes types, ``functions`` lists the functions. ``known_shapes``
has the sizes that declarations give.
"""
