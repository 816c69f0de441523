"""The nearest of some centres for each point."""

import numpy as np

prange = range
SIZES = {"n": 100000, "k": 16, "d": 8}


def inputs(random, n, k, d):
    return n, k, d, random.random((n, d)), random.random((k, d)), np.zeros(n, np.int32)


def loops(n, k, d, x, c, nearest):
    for i in prange(n):
        least, place = 1e300, 0
        for j in range(k):
            total = 0.0
            for axis in range(d):
                difference = x[i, axis] - c[j, axis]
                total += difference * difference
            if total < least:
                least, place = total, j
        nearest[i] = place
