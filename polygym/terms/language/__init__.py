"""The language of terms: text, types, values, what a term computes.

``types`` and ``operators`` are its tables, ``nodes`` its terms: those of :mod:`polygym.rewrite`
with variables by their distance, which ``substitution`` moves without capture. Text: ``syntax``
takes it apart, ``declared`` reads names and types, ``reading`` makes a ``program`` of it in a
``scope``, ``printing`` is the way back. The
``interpreter`` says what a term computes, in ``values``. Recursion goes through ``deep``, which has
no limit.
"""

__all__: list[str] = []
