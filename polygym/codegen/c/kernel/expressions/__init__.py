"""Operations as C expressions, with no more parentheses and casts than they need.

===============  ======================================================================
``operations``   operations, most of them by what the other modules give
``arithmetic``   arithmetic, comparisons, truth values
``memory``       addresses, loads, the lanes that there are
``value_texts``  values as signed or unsigned numbers, or as pointers
``texts``        how tightly a text binds
``numbers``      numbers
``pointees``     which kinds of numbers C's types have
===============  ======================================================================
"""
