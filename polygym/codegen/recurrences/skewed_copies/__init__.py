"""Diagonals of recurrences, vectorized through skewed copies of arrays.

``analysis`` finds arrays whose diagonals can be rows and estimates the gain; ``plan`` chooses
regions and copies; ``transform`` is the pass.

fires on: seidel-2d
"""
