"""Recurrences along rows, vectorized across rows: ``y[i][j] = x[i][j] + b * y[i][j - 1]``.

``analysis`` finds such loops and estimates their gain; ``row_groups`` and ``plan`` choose tiles;
``transform`` is the pass; ``dead_copies`` removes copies back that no statement reads.

fires on: tc:moments, tc:softmax, tc:layer_norm
"""

__all__: list[str] = []
