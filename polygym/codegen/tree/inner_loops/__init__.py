"""Innermost loops: which loops, in which order, with which annotations.

=====================  ================================================
``grouping``           groups of statements and their loop roles
``arrangement``        fused or distributed groups, or a diagonal
``register_blocking``  unroll-and-jam factors and vectors per loop
``reduction_choice``   the loops of one reduction
``nested_reduction``   reductions over several loops, held in registers
=====================  ================================================
"""
