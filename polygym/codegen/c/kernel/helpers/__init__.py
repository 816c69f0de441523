"""Helpers of printed C: small functions that a file has once, for those kernels that call them.

Each name says what the helper does and for which type; its text is made from the name.

===================  ======================================================================
``table``            the patterns of names, and which helpers a text needs
``type_names``       types of helpers: scalars, lanes, masks, x86's intrinsics
``definitions``      definitions as text, with a faster body where the processor has one
``arithmetic``       fused operations, roots, roundings, signs
``lanes``            broadcasts, masks, selections, minima and maxima
``partial_vectors``  loads and stores of the first lanes, or of those in a mask
``spread_lanes``     loads and stores of lanes that are apart in memory
``conversions``      bits of another type, conversions that saturate, types that alias
``fixed``            helpers without a type: whole quotients, memory, threads
===================  ======================================================================
"""
