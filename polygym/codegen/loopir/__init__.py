"""Loop IR: blocks, loops, guards, instances, and the indices in them.

====================  ===============================================================
``ir``                the types, visitors and operator tables
``index_arithmetic``  arithmetic on indices as trees
``linear_sums``       indices as linear sums
``nests``             loops directly inside each other
``names``             names of counters, and of what passes add
``canonical_form``    a key of loops that differ only in the origin of their counters
====================  ===============================================================
"""

__all__: list[str] = []
