"""Loop IR: blocks, loops, guards, instances, and the indices in them.

====================  ============================================================================
``canonical_form``    canonical key of loops
``index_arithmetic``  arithmetic on indices
``ir``                the loop IR
``linear_sums``       indices as sums: what two of them differ by, however they are written
``names``             names
``nests``             loops that stand directly in each other
``pass_types``        the type of a pass of code generation, and the request that all passes serve
``python_text``       indices as Python expressions
====================  ============================================================================
"""
