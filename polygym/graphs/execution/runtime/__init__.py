"""Compiled models: code, memory, calls."""

__all__: list[str] = []
