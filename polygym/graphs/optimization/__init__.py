"""Optimization of graphs: saturation and extraction, backtracking, planning."""

__all__: list[str] = []
