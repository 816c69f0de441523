"""Pressure of a flow in a box: sweeps of Jacobi with walls."""

import numpy as np

prange = range
SIZES = {"steps": 50, "n": 500, "m": 500}


def inputs(random, steps, n, m):
    return steps, n, m, random.random((n, m)), random.random((n, m)), np.zeros((n, m))


def loops(steps, n, m, b, p, q):
    for _ in range(steps):
        for i in prange(n):
            for j in range(m):
                q[i, j] = p[i, j]
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                around = q[i, j + 1] + q[i, j - 1] + q[i + 1, j] + q[i - 1, j]
                p[i, j] = 0.25 * around - b[i, j]
        for i in range(n):
            p[i, m - 1] = p[i, m - 2]
        for j in range(m):
            p[0, j] = p[1, j]
        for i in range(n):
            p[i, 0] = p[i, 1]
        for j in range(m):
            p[n - 1, j] = 0.0


def arrays(steps, n, m, b, p, q):
    for _ in range(steps):
        q[:] = p
        around = q[1:-1, 2:] + q[1:-1, :-2] + q[2:, 1:-1] + q[:-2, 1:-1]
        p[1:-1, 1:-1] = 0.25 * around - b[1:-1, 1:-1]
        p[:, m - 1] = p[:, m - 2]
        p[0] = p[1]
        p[:, 0] = p[:, 1]
        p[n - 1] = 0.0
