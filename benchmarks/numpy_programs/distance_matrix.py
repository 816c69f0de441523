"""Distances between all pairs of two sets of points."""

import numpy as np

prange = range
SIZES = {"n": 2000, "m": 2000, "d": 3}


def inputs(random, n, m, d):
    return n, m, d, random.random((n, d)), random.random((m, d)), np.zeros((n, m))


def loops(n, m, d, x, y, out):
    for i in prange(n):
        for j in range(m):
            total = 0.0
            for k in range(d):
                difference = x[i, k] - y[j, k]
                total += difference * difference
            out[i, j] = np.sqrt(total)
