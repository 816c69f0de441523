"""Import of ONNX files: order, folding, patterns, translation."""

__all__: list[str] = []
