"""Checks of generated loops.

===============  =====================================================================
``order``        exact check by sets: every instance once, every dependence kept; timestamps
``execution``    check by execution: the loops follow the tree
``coverage``     the same for a sample, with the instances that are probed
``interpreter``  loops as Python functions: all iterations or a sample
``ranges``       index arithmetic fits 64 bits
``bounds``       accesses stay inside their arrays; the rest is checked at run time
===============  =====================================================================
"""
