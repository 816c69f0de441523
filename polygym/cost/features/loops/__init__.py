"""Features of loops: ``nests`` of a planned tree (``planned_nests``), their ``footprints``.

``column_names`` lists the columns, ``cache_lines`` is the footprint of one reference,
``stacked_statements`` has many at once.
"""
