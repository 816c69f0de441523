"""Lowering of graphs to operations and groups of operations.

====================  ======================================================================
``graph_lowering``    A graph as operations on arrays
``inset_padding``     Images that are written inside of their padding, which is there before a …
``kernel_groups``     groups of operations that share a kernel
``product_lowering``  Products as operations: with a single row and a known matrix, by blocks …
====================  ======================================================================
"""
