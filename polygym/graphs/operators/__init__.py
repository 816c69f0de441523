"""Operators of tensor graphs, each defined in one place.

:mod:`~polygym.graphs.operators.definition` has the fields of a definition: children, shape,
reference, work, element text, ONNX, PyTorch. Five families define the operators: elementwise,
whole numbers, products, images, movement. :mod:`~polygym.graphs.operators.registry` collects them.

===================  ============================================================================
``definition``       definition of a graph operator: everything that polygym knows of it
``elementwise``      operators of single elements: arithmetic, functions, comparisons, conversion
``images``           convolutions and pools of images, and operators that change their kernels
``movement``         operators that move elements, name arrays, or choose parts of them
``products``         products of matrices
``registry``         registry of operators: the definitions by name, and inference of nodes
``shape_functions``  shape functions: the type of a node, from the types of its children
``types``            types of nodes
``whole_numbers``    operators to whole numbers, and division of integers
===================  ============================================================================
"""
