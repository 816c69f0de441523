"""Desugaring: calls, switches, jumps, structures and effects in plain statements.

=========================  =========================================================================
``actual_arguments``       functions and their arguments where they are inlined
``bit_functions``          functions of the compiler that count bits, as functions of the file
``bounds_from_sizes``      bounds of loops from the sizes of the arrays that every iteration reads …
``canonical_expressions``  expressions in other words
``complex_numbers``        complex numbers as pairs of reals
``counted_loops``          loops that count in another way, as ``for`` loops of the usual form
``data_bounds``            bounds of loops that are read from memory, where that can be exact
``gnu_expressions``        ``__typeof__``, ``__auto_type`` and blocks inside expressions
``inlining``               calls of the user's own functions in a region
``jumps``                  jumps forward as ``if``
``memory_functions``       ``memset`` and ``memcpy`` as loops over the elements of arrays
``memory_parameters``      integers of memory that a region does not change, as parameters of it
``normal_form``            A region in plain form
``ordered_conditions``     loops that step by 1 until two values are equal, as loops with an order
``side_effects``           side effects taken out of an expression
``single_assignment``      integers that are set once for all that reads them
``struct_calls``           calls of the file's functions that take structures, put in place before …
``struct_copies``          copies of whole structures as copies of their members, before members …
``struct_layout``          layout of structures in memory
``struct_members``         members of structures as arrays of their own
``switches``               ``switch`` as ``if``
=========================  =========================================================================
"""
