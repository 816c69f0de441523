"""Whole graphs through tensor comprehensions: lowered, fused, compiled, run and timed.

``runtime`` compiles and calls. ``lowering`` makes a list of operations of a graph, with views
(``ir.views``) where no element moves, and says which operations share a kernel. Such a group is a
loop nest (``ir.nests``): the bodies of ``operators`` and the element-wise functions that follow. It
is simplified and written as a comprehension. ``planning`` says where arrays lie, which share
memory, which variants a kernel has, and what is fused. ``timing`` asks the measuring worker for the
times of operators, variants and steps.
"""

from polygym.graphs.execution.runtime.compiled_model import CompiledModel, compile_model
from polygym.graphs.execution.timing.step_profile import StepDescription

__all__ = ["CompiledModel", "StepDescription", "compile_model"]
