"""Normalization of the channels of a batch by their mean and variance."""

import numpy as np

prange = range
SIZES = {"b": 64, "n": 28, "m": 28, "c": 32}


def inputs(random, b, n, m, c):
    values = random.random((b, n, m, c), np.float32)
    scale, shift = random.random(c, np.float32), random.random(c, np.float32)
    return b, n, m, c, values, scale, shift, np.zeros((b, n, m, c), np.float32)


def loops(b, n, m, c, values, scale, shift, out):
    sums = np.zeros((b, c), np.float32)
    for p in prange(b):
        for i in range(n):
            for j in range(m):
                for k in range(c):
                    sums[p, k] += values[p, i, j, k]
    mean = np.zeros(c, np.float32)
    for p in range(b):
        for k in range(c):
            mean[k] += sums[p, k]
    for k in range(c):
        mean[k] = mean[k] / (b * n * m)
    squares = np.zeros((b, c), np.float32)
    for p in prange(b):
        for i in range(n):
            for j in range(m):
                for k in range(c):
                    difference = values[p, i, j, k] - mean[k]
                    squares[p, k] += difference * difference
    deviation = np.zeros(c, np.float32)
    for p in range(b):
        for k in range(c):
            deviation[k] += squares[p, k]
    for k in range(c):
        deviation[k] = np.sqrt(deviation[k] / (b * n * m) + np.float32(1e-5))
    for p in prange(b):
        for i in range(n):
            for j in range(m):
                for k in range(c):
                    value = (values[p, i, j, k] - mean[k]) / deviation[k]
                    out[p, i, j, k] = value * scale[k] + shift[k]
