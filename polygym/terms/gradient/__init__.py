"""Reverse-mode differentiation: from a program the program of its gradient.

``reverse`` traverses a term from the result to the arguments, with functions inlined by
``inlining``; ``chain_rules`` is the table of derivatives. ``adjoints`` represents derivatives of
the result by parts of it, ``bindings`` binds intermediate values, once each.
"""

from polygym.terms.gradient.reverse import gradient

__all__ = ["gradient"]
