"""Whole graphs through tensor comprehensions: lowered, fused, compiled, run and timed.

=============  ==============================================================
``ir``         operations on arrays, views, loop nests, and their text
``lowering``   lowering of graphs to operations and groups of operations
``operators``  loop bodies of the operators that are more than elementwise
``planning``   plans of execution: kernels and their variants, fusion, memory
``runtime``    compiled models: code, memory, calls
``timing``     times of kernels and steps, measured by the worker
=============  ==============================================================
"""

from polygym.graphs.execution.runtime.compiled_model import CompiledModel, compile_model
from polygym.graphs.execution.timing.step_profile import StepDescription

__all__ = ["CompiledModel", "StepDescription", "compile_model"]
