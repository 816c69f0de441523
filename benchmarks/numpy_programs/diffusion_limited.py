"""Horizontal diffusion of layers, with a limiter on the fluxes."""

import numpy as np

prange = range
SIZES = {"k": 64, "n": 256, "m": 256}


def inputs(random, k, n, m):
    field, coeff = random.random((k, n + 4, m + 4)), random.random((k, n, m))
    return k, n, m, field, coeff, np.zeros((k, n, m))


def loops(k, n, m, field, coeff, out):
    for level in prange(k):
        lap = np.empty((n + 2, m + 2))
        fx = np.empty((n + 1, m))
        fy = np.empty((n, m + 1))
        for i in range(n + 2):
            for j in range(m + 2):
                lap[i, j] = 4.0 * field[level, i + 1, j + 1] - (
                    field[level, i + 2, j + 1]
                    + field[level, i, j + 1]
                    + field[level, i + 1, j + 2]
                    + field[level, i + 1, j]
                )
        for i in range(n + 1):
            for j in range(m):
                f = lap[i + 1, j + 1] - lap[i, j + 1]
                limited = f * (field[level, i + 2, j + 2] - field[level, i + 1, j + 2]) > 0.0
                fx[i, j] = 0.0 if limited else f
        for i in range(n):
            for j in range(m + 1):
                f = lap[i + 1, j + 1] - lap[i + 1, j]
                limited = f * (field[level, i + 2, j + 2] - field[level, i + 2, j + 1]) > 0.0
                fy[i, j] = 0.0 if limited else f
        for i in range(n):
            for j in range(m):
                change = fx[i + 1, j] - fx[i, j] + fy[i, j + 1] - fy[i, j]
                out[level, i, j] = field[level, i + 2, j + 2] - coeff[level, i, j] * change
