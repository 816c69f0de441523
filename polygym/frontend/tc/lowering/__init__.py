"""Lowering of comprehensions to a :class:`~polygym.ir.scop.Scop`.

``definitions`` drives the steps and puts the program together, ``statements`` and ``expressions``
emit statements and their bodies.
"""
