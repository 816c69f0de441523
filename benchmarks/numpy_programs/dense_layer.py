"""A fully connected layer: product, bias and maximum with zero."""

import numpy as np

prange = range
SIZES = {"b": 512, "n": 512, "m": 512}


def inputs(random, b, n, m):
    values, w = random.random((b, n), np.float32) - 0.5, random.random((n, m), np.float32) - 0.5
    return b, n, m, values, w, random.random(m, np.float32), np.zeros((b, m), np.float32)


def loops(b, n, m, values, w, bias, out):
    for i in prange(b):
        for j in range(m):
            out[i, j] = bias[j]
        for k in range(n):
            for j in range(m):
                out[i, j] += values[i, k] * w[k, j]
        for j in range(m):
            out[i, j] = max(out[i, j], 0.0)


def arrays(b, n, m, values, w, bias, out):
    out[:] = np.maximum(np.dot(values, w) + bias, 0.0)
