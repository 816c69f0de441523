"""Import of ONNX files: order, folding, patterns, translation."""
