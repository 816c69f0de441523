"""Tests of polygym.graphs.onnx.format."""
