"""Operators of tensor graphs, each defined in one place.

:mod:`~polygym.graphs.operators.definition` has the fields of a definition: children, shape,
reference, work, element text, ONNX, PyTorch. Four families define the operators: elementwise,
products, images, movement. :mod:`~polygym.graphs.operators.registry` collects them.
"""
