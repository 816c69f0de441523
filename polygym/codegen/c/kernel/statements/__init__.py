"""A lifted function as statements of C.

A value that is used once, in the same block, stands where it is used; others get a variable.
A value that reads memory moves past no operation with an effect. Phis are variables that are
assigned where control comes from.

====================  =================================================================
``function_printer``  branches and loops of a function
``loop_heads``        counters of loops, their first values, their tests
``block_printer``     operations of a block → statements
``effects``           stores, calls and other operations that stay where they are
``phi_copies``        assignments that happen at once, one after another
``variables``         names and types of variables, types of pointers
``uses``              where values are used
``nodes``             statements
``lines``             statements → lines, with declarations
====================  =================================================================
"""
