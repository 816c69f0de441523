"""What the floors of code generation agree about: trees, loops and emitters.

===================  ==============================================================================
``mapping``          what is done to a schedule for the machine's sake, as a value with a text
``nest_entries``     what a mapping says of single nests
``former_words``     texts of mappings in old files
``consulted``        answers about mappings, remembered by what they asked
``machine``          what is known of the machine: caches, vectors, registers
``sizes``            what is known of the program's sizes
``boxes``            the box around a statement's instances at known sizes
``loop_annotation``  what a loop has been given to do
``meetings``         how much work threads have to have between two meetings
``reductions``       statements whose terms may be taken in any order
``sum_order``        what keeps its order where terms may be taken in any order
``packable``         which reads may go to a turned copy of their array
``math_forms``       in which forms functions of math.h can be computed
``exponential``      the exponential function as numbers: the same in LLVM IR and in C
``special``          functions that the C library has not, as lists of operations, and as C
===================  ==============================================================================
"""

__all__: list[str] = []
