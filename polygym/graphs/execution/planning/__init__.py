"""Plans of execution: kernels and their variants, fusion, memory.

===================  ===============================================================================
``arena``            A memory plan: intermediate results one after the other in the same memory
``execution_plan``   steps in order
``fusion``           whether functions of elements are computed in the kernel of what comes before …
``kernel_variants``  forms of a kernel
===================  ===============================================================================
"""
