"""Means and deviations of windows of many series."""

import numpy as np

prange = range
SIZES = {"n": 400, "m": 4000, "w": 20}


def inputs(random, n, m, w):
    return n, m, w, random.random((n, m)), *(np.zeros((n, m - w + 1)) for _ in range(2))


def loops(n, m, w, x, mean, dev):
    for i in prange(n):
        for j in range(m - w + 1):
            total = square = 0.0
            for k in range(w):
                total += x[i, j + k]
                square += x[i, j + k] * x[i, j + k]
            mean[i, j] = total / w
            dev[i, j] = np.sqrt(square / w - total / w * (total / w))
