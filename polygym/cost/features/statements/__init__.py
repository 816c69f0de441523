"""Work of statements at given sizes: ``statement_work``, ``point_counts``, ``row_steps``."""
