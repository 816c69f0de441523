"""Import of ONNX files: order, folding, patterns, translation.

====================  =============================================================================
``constant_folding``  constant folding of ONNX files: constants, shapes, and arithmetic with them
``fused_patterns``    layer norm and gelu, found again in what exporters took them apart into
``node_order``        the nodes of an ONNX graph in an order in which they can be computed, known …
``reader``            read an ONNX file
====================  =============================================================================
"""
