"""Whole graphs through tensor comprehensions: lowered, fused, compiled, run and timed.

``compile`` goes the whole way: ``operations`` makes a list of what a graph does, with ``views`` for
what moves nothing; ``groups`` says which share a kernel, by the ``bodies`` of operators and the
``functions`` of elements that follow them; such a group is a loop nest (``nests``), made
``simpler`` and written as a comprehension (``texts``), of which ``kernels`` makes machine code.
``plan`` says where arrays lie, ``memory`` which share theirs, ``compiled`` is what is called.
``timed`` asks the measuring worker how long an operator takes.
"""

from polygym.graphs.running.compile import compile_model
from polygym.graphs.running.compiled import Compiled, Step

__all__ = ["Compiled", "Step", "compile_model"]
