"""Softmax of the rows of a batch of matrices."""

import numpy as np

prange = range
SIZES = {"b": 16, "n": 128, "m": 512}


def inputs(random, b, n, m):
    return b, n, m, random.random((b, n, m), np.float32), np.zeros((b, n, m), np.float32)


def loops(b, n, m, values, out):
    for p in prange(b):
        for i in range(n):
            top = values[p, i, 0]
            for j in range(1, m):
                top = max(values[p, i, j], top)
            total = np.float32(0.0)
            for j in range(m):
                out[p, i, j] = np.exp(values[p, i, j] - top)
                total += out[p, i, j]
            for j in range(m):
                out[p, i, j] = out[p, i, j] / total
