"""Work of statements at given sizes: ``statement_work``, ``point_counts``, ``row_steps``."""

__all__: list[str] = []
