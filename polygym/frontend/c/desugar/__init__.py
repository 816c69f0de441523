"""Desugaring: calls, switches, jumps, structures and effects in plain statements."""

__all__: list[str] = []
