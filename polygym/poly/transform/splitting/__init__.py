"""Index-set splitting: statements in pieces, each with a schedule of its own.

==============  ===============================================================================
``apply``       A program in pieces: the same instances in the same order
``conditions``  Split conditions: the cuts of statements as a value with a text
``selection``   Selection of cuts with which isl's scheduler finds more parallel or wider bands
==============  ===============================================================================
"""
