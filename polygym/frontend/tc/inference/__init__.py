"""Inference for comprehensions: types of tensors, ranges of indices, checks of accesses.

``lowering_state`` holds the known facts of a definition. ``declarations`` and ``literals`` infer
types. ``statement_ranges`` infers ranges by ``ranges``, from ``subscripts``, ``range_ends`` and
``quotients``. ``assigned_elements``, ``in_place`` and ``usage`` check reads and writes.
"""

__all__: list[str] = []
