"""The language of terms: text, types, values, evaluation.

``types`` and ``operators`` are its tables. ``nodes`` makes terms of :mod:`polygym.rewrite` whose
variables are counted by binders; ``substitution`` moves them without capture. ``syntax`` splits a
text, ``parser`` makes a ``program`` of it with the names of ``scopes``, ``printer`` writes text.
``calls`` puts programs in where they are called. ``interpreter`` evaluates a term to ``values``;
``trampoline`` replaces recursion, without a limit.

``derivatives`` of programs are programs: ``reverse`` traverses a term from the result to the
arguments, ``forward`` from the arguments to the result, after ``inlining`` of functions.
``chain_rules`` is the table that both read, ``adjoints`` represents derivatives part by part,
``blocks`` binds what is used again.
"""
