"""Inference for comprehensions: types of tensors, ranges of indices, checks of accesses.

``lowering_state`` holds the known facts of a definition, and infers types. ``statement_ranges``
infers ranges by ``ranges``, with those of a ``where`` from ``where_ranges``. ``assigned_elements``
has the accesses of a statement, and ``usage`` checks reads and writes.
"""
