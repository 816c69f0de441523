"""A legal schedule in, machine code out: trees, then loops, then LLVM IR.

==================  ===============================================================================
``pipeline``        the way as a whole, and simpler ways where a mapping is out of isl's reach
``passes``          the passes of the way, in their order: one table
``stages``          what each pass leaves, for people
``trees``           the schedule as a tree of loops, and what a mapping makes of it
``loops``           isl's loops of the tree as a small IR, and the passes over it
``llvm``            the loops as LLVM IR, and as machine code that is loaded
``c_printer``       the loops as C
------------------  -------------------------------------------------------------------------------
``mapping``         what is done to a schedule for the machine's sake, as a value with a text
``machine``         what is known of the machine: caches, vectors, registers
``sizes``           what is known of the program's sizes
``boxes``           the box around a statement's instances at known sizes
``loop_annotation`` what a loop has been given to do
``packable``        which reads may go to a turned copy of their array
``math_forms``      in which forms functions of math.h can be computed
``exponential``     the exponential function as numbers: the same in LLVM IR and in C
==================  ===============================================================================

Those below the line are what trees, loops and emitters agree about. ``trees`` knows nothing of
``loops``, and ``loops`` nothing of ``llvm``.
"""
