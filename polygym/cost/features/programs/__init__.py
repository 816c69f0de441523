"""Features of programs: their ``shape``, ``canonical_bodies``, and ``scalar_forwarding``."""

__all__: list[str] = []
