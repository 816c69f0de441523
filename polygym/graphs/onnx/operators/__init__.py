"""Import of ONNX operators, one module a family; each has its rows.

=======================  ===================================================================
``convolution_pooling``  convolutions and pooling, from ONNX
``data_movement``        operators that move elements, from ONNX
``elementwise``          operators on single elements, from ONNX
``gather_scatter``       elements chosen by places, and elements put at places, from ONNX
``matrix_products``      products of matrices, from ONNX
``normalization``        normalisations, softmax and reductions, from ONNX
``recurrent``            layers with a state in time, from ONNX, step by step
``resize``               images made larger or smaller, from ONNX: nearest, linear and cubic
=======================  ===================================================================
"""
