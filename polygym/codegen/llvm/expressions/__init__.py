"""Expressions of statements in LLVM IR.

===================  =============================================
``emit_expression``  the value of a statement
``math_functions``   functions of math.h, special and foreign ones
``emit_half``        numbers of sixteen bits
===================  =============================================
"""
