"""Index-set splitting: statements in pieces, each with a schedule of its own.

===============  ===============================================================================
``apply``        A program in pieces: the same instances in the same order
``conditions``   Split conditions: the cuts of statements as a value with a text
``merit``        Merits of programs in pieces: which loops isl's scheduler makes parallel
``selection``    Selection of cuts with which isl's scheduler finds more parallel or wider bands
``suggestions``  Suggestions of cuts, from dependences
===============  ===============================================================================
"""
