"""Import of ONNX files: order, folding, patterns, translation.

====================  =============================================================================
``backend``           ONNX's backend interface: ``prepare`` a model, ``run`` it with arrays
``constant_folding``  constant folding of ONNX files: constants, shapes, and arithmetic with them
``fused_patterns``    layer norm and gelu, found again in what exporters took them apart into
``node_order``        the nodes of an ONNX graph in an order in which they can be computed, known …
``reader``            read an ONNX file: nodes in an order in which they can be computed, each …
``value_types``       types of values, as ONNX has them, and the types that they are computed in
====================  =============================================================================
"""
