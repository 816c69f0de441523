"""ONNX files: the package, names, tensors, and the order of nodes."""

__all__: list[str] = []
