"""Reverse-mode differentiation: from a program the program of its gradient.

``reverse`` inlines functions and traverses a term from the result to the arguments;
``chain_rules`` is the table of derivatives, ``adjoints`` represents derivatives of the result by
parts of it.
"""

from polygym.terms.gradient.reverse import gradient

__all__ = ["gradient"]
