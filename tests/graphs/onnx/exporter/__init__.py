"""Tests of polygym.graphs.onnx.exporter."""
