"""Lowering of comprehensions to a :class:`~polygym.ir.scop.Scop`.

``definitions`` drives the steps, ``statements`` and ``expressions`` emit statements and their
bodies, ``assembly`` puts the program together.
"""

__all__: list[str] = []
