"""The language of terms: text, types, values, evaluation.

``types`` and ``operators`` are its tables. ``nodes`` makes terms of :mod:`polygym.rewrite` whose
variables are counted by binders; ``substitution`` moves them without capture. ``syntax`` splits a
text, ``parser`` makes a ``program`` of it with the names of ``scopes``, ``printer`` writes text.
``interpreter`` evaluates a term to ``values``; ``trampoline`` replaces recursion, without a limit.
"""
