"""Facts that trees, loops and emitters of code generation share.

========================  ==============================================================
``loop_annotation``       annotations of loops: threads, vectors, copies, registers
``reductions``            statements that reduce, and their operators
``scattered_reductions``  the same of elements that are computed: histograms
``reduction_order``       order that a reduction keeps where its terms may be reordered
``packing_candidates``    reads that may go to a transposed copy
``bounding_boxes``        the box around a statement's instances at known sizes
``math_support``          functions of math.h by the forms that compute them
``exponential``           the exponential function as numbers, the same in LLVM IR and C
``special_functions``     functions that the C library lacks, as operations
========================  ==============================================================
"""
