"""Tests of polygym.graphs.onnx.operators."""
