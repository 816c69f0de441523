"""Derivatives of a definition, as definitions again: whatever is done with one is done with them.

``analysis`` reads ranges and sizes off the lowering, ``versions`` tells the values of a tensor
apart. ``partials`` differentiates expressions, with the table of ``functions``; ``reductions`` the
ways to combine values. ``reverse`` and ``forward`` go through the statements; ``emission`` writes
those of the derivative, from expressions of ``arithmetic`` and ``sizes``, and ``transposition``
turns sums around. ``signature`` puts the definition together. ``batching`` adds a dimension,
``emptiness`` leaves out what does not run.
"""
