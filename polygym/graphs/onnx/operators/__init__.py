"""Import of ONNX operators, one module a family; each has its rows."""
