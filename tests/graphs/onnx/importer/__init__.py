"""Tests of polygym.graphs.onnx.importer."""
