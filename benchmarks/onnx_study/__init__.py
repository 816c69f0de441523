"""Comparisons of ONNX models with what ONNX itself says."""
