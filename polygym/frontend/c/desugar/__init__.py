"""Desugaring: calls, switches, jumps, structures and effects in plain statements."""
