"""Promotion: parts of arrays in shared memory and in registers while a block works on its points.

==============  ======================================================================
``points``      The points of a block, and code that a thread runs for each of its own
``boxes``       What part of an array loops touch, as a box
``copies``      Arrays and statements that are made for it
``sums``        Elements that stay in registers
``stages``      Loops whose reads are staged through shared memory
``block_sums``  Sums by the threads of a block together
``nests``       All of it, for the loops of one kernel
==============  ======================================================================
"""
