"""Whole C programs, random ones and mutants of the suite, checked against gcc.

===================  ===================================================================
draft                a program while it is written: its memory, its region, its ``main``
elements             element types, and random expressions over them
memory_habits        arrays as people have them: arguments, members, rows, file scope
pointer_habits       pointers that the code before the region sets
nest_habits          loop nests: counters, guards, reductions, gathers, walking pointers
statement_habits     regions of several statements: ``memset``, ``switch``, structures
random_program       a program from its seed
suite_mutants        a program of the suite in which a word or a statement was changed
checking             the stages of a program: gcc, the region, the exported loops
results              verdicts, and the lines of the results
===================  ===================================================================
"""
