"""Emulation of a device: programs for a GPU run on NumPy arrays, and what they do is checked.

===============  ========================================================================
``arithmetic``   Operators of expressions on NumPy scalars
``expressions``  Bodies of statements and indices as Python text
``memory``       Arrays whose accesses are checked and recorded
``races``        Accesses of threads that nothing orders
``machine``      Launches, blocks, threads and barriers
===============  ========================================================================
"""
