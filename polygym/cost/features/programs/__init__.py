"""Features of programs: their ``shape``, and ``canonical_bodies``."""
