"""Reverse-mode differentiation: from a program the program of its gradient.

``chain`` is the table of the chain rules, ``reverse`` goes through a term by them, from the result
to the arguments, with functions put in by ``calls`` and ``sizes`` read off. ``adjoints`` are
derivatives of the result by parts of it, ``block`` is where what is computed on the way is bound,
once.
"""

from __future__ import annotations

from polygym.terms.gradient.reverse import gradient

__all__ = ["gradient"]
