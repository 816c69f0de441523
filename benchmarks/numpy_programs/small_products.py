"""Sums of products of many small matrices."""

import numpy as np

prange = range
SIZES = {"e": 400, "q": 24, "n": 12}


def inputs(random, e, q, n):
    return e, q, n, random.random((e, n, n)), random.random((q, n, n)), np.zeros((e, n, n))


def loops(e, q, n, g, h, out):
    for p in prange(e):
        for i in range(n):
            for j in range(n):
                out[p, i, j] = 0.0
            for s in range(q):
                for k in range(n):
                    for j in range(n):
                        out[p, i, j] += g[p, i, k] * h[s, k, j]
