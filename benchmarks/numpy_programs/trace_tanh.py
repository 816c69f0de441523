"""A matrix plus the sum of the hyperbolic tangents of its diagonal."""

import numpy as np

prange = range
SIZES = {"n": 3000}


def inputs(random, n):
    return n, random.random((n, n)), np.zeros((n, n))


def loops(n, a, out):
    trace = 0.0
    for i in range(n):
        trace += np.tanh(a[i, i])
    for i in prange(n):
        for j in range(n):
            out[i, j] = a[i, j] + trace


def arrays(n, a, out):
    trace = 0.0
    for i in range(n):
        trace += np.tanh(a[i, i])
    out[:] = a + trace
