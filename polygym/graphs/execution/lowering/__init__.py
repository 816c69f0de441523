"""Lowering of graphs to operations and groups of operations."""

__all__: list[str] = []
