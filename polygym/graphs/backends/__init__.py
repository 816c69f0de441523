"""Others who can run a model: what results and times are compared with.

``pytorch`` makes a function of PyTorch's of it, ``onnx_runtime`` one of onnxruntime's.
"""

__all__ = ["onnx_runtime", "pytorch"]
