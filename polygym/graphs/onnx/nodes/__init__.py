"""Nodes of an ONNX graph during import, and the graph that is built."""

__all__: list[str] = []
