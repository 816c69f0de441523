"""Texts become programs: ``c`` reads marked regions of C files, ``tc`` tensor comprehensions.

Both make a :class:`~polygym.ir.scop.Scop`, which does not say which of them made it.
"""

__all__ = ["c", "tc"]
