"""Recurrences along rows, vectorized across rows: ``y[i][j] = x[i][j] + b * y[i][j - 1]``.

``analysis`` finds such loops and estimates their gain; ``plan`` chooses tiles and the rows
that share them; ``transform`` is the pass, and removes copies back that no statement reads.

fires on: tc:moments, tc:softmax, tc:layer_norm
"""
