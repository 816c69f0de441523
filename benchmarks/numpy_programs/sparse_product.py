"""A sparse matrix in rows times a vector."""

import numpy as np

prange = range
SIZES = {"n": 60000, "z": 900000}


def inputs(random, n, z):
    row = np.sort(random.integers(0, z + 1, n + 1)).astype(np.int32)
    row[0], row[n] = 0, z
    col = random.integers(0, n, z).astype(np.int32)
    return n, z, row, col, random.random(z), random.random(n), np.zeros(n)


def loops(n, z, row, col, val, x, y):
    for i in prange(n):
        total = 0.0
        for k in range(row[i], row[i + 1]):
            total += val[k] * x[col[k]]
        y[i] = total
