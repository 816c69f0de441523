"""Whole C programs, random ones and mutants of the suite, checked against gcc.

===================  ===================================================================
draft                a program while it is written: its memory, its region, its ``main``
elements             element types, and random expressions over them
memory_habits        arrays as people have them: arguments, members, rows, file scope
pointer_habits       pointers that the code before the region sets
loop_forms           a loop and its counter: ``for``, ``while``, ``do``, upwards, downwards
statement_habits     bodies of loops: stores, guards, ``switch``, functions, small arrays
nest_habits          loop nests: reductions, gathers, walking pointers, ``memset``, structures
random_program       a program from its seed
suite_mutants        a program of the suite in which a word or a statement was changed
checking             the stages of a program: gcc, the region, the exported loops
results              verdicts, and the lines of the results
===================  ===================================================================
"""
