"""Whole graphs through tensor comprehensions: lowered, fused, compiled, run and timed.

``compile`` goes the whole way. ``lowering`` makes a list of ``operations`` of a graph (``images``
has convolutions and pools), with ``views`` for what moves nothing; ``groups`` says which share a
kernel. Such a group is a loop nest (``nests``): the ``bodies`` of operators, of which ``heads`` is
the table and ``products``, ``windows`` and ``sums`` are the kinds, and the ``functions`` of
elements that follow. It is made ``simpler`` and written as a comprehension (``texts``), of which
``kernels`` makes machine code. ``plan`` says where arrays lie, ``memory`` which share theirs,
``pages`` where the memory comes from;
``steps`` describes what runs, and ``compiled`` is what is called.
``timed`` asks the measuring worker how long an operator takes; ``tuned`` has it time the ``forms``
that a kernel may have, and the fastest is taken from then on; ``fusing`` says whether functions of
elements are in the kernel before them. ``profiled`` says where the time of a model goes.
"""

from polygym.graphs.execution.planning.step_description import StepDescription
from polygym.graphs.execution.runtime.compiled_model import CompiledModel, compile_model

__all__ = ["CompiledModel", "StepDescription", "compile_model"]
