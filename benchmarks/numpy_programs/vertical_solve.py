"""Tridiagonal systems, one for each column of a grid."""

import numpy as np

prange = range
SIZES = {"k": 80, "n": 160, "m": 160}


def inputs(random, k, n, m):
    a, b, c, d = (random.random((k, n, m)) for _ in range(4))
    return k, n, m, a, b + 3.0, c, d, np.zeros((k, n, m))


def loops(k, n, m, a, b, c, d, x):
    for i in prange(n):
        for j in range(m):
            c[0, i, j] = c[0, i, j] / b[0, i, j]
            d[0, i, j] = d[0, i, j] / b[0, i, j]
        for level in range(1, k):
            for j in range(m):
                w = 1.0 / (b[level, i, j] - a[level, i, j] * c[level - 1, i, j])
                c[level, i, j] = c[level, i, j] * w
                d[level, i, j] = (d[level, i, j] - a[level, i, j] * d[level - 1, i, j]) * w
        for j in range(m):
            x[k - 1, i, j] = d[k - 1, i, j]
        for level in range(k - 2, -1, -1):
            for j in range(m):
                x[level, i, j] = d[level, i, j] - c[level, i, j] * x[level + 1, i, j]


def arrays(k, n, m, a, b, c, d, x):
    c[0] = c[0] / b[0]
    d[0] = d[0] / b[0]
    for level in range(1, k):
        w = 1.0 / (b[level] - a[level] * c[level - 1])
        c[level] = c[level] * w
        d[level] = (d[level] - a[level] * d[level - 1]) * w
    x[k - 1] = d[k - 1]
    for level in range(k - 2, -1, -1):
        x[level] = d[level] - c[level] * x[level + 1]
