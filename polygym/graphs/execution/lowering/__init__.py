"""Lowering of graphs to operations and groups of operations."""
