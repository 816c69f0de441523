"""Compiled models: code, memory, calls."""
