"""Features of programs: their ``shape``, and ``canonical_bodies``."""

__all__: list[str] = []
