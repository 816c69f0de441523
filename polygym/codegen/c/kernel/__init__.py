"""Kernels as C that is as fast as machine code: printed from what becomes machine code.

===================  ======================================================================
``lifting/``         LLVM IR, not optimised → operations as C has them
``values``           blocks, operations, constants, arguments
``folding``          simple values of operations
``value_numbering``  equal values, computed once
``promotion``        scalars out of memory; arguments that nobody uses
``short_rows``       elements of short rows, by the type of rows
``dead_code``        operations that nobody needs
``control_flow``     loops and joins
``statements/``      blocks → statements: variables, loops, branches, calls
``expressions/``     operations → expressions
``names``            C names of types
``helpers/``         functions that kernels call: partial vectors, fused operations, memory
===================  ======================================================================
"""
