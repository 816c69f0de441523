"""The edit distance of two sequences, by dynamic programming."""

import numpy as np

prange = range
SIZES = {"n": 3000, "m": 3000}


def inputs(random, n, m):
    a, b = (random.integers(0, 4, size).astype(np.int32) for size in (n, m))
    return n, m, a, b, np.zeros((n + 1, m + 1), np.int32)


def loops(n, m, a, b, d):
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best = d[i - 1, j - 1] + (0 if a[i - 1] == b[j - 1] else 1)
            best = min(d[i - 1, j] + 1, best)
            best = min(d[i, j - 1] + 1, best)
            d[i, j] = best
