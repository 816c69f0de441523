"""ONNX files in and out."""
