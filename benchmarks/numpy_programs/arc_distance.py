"""Great-circle distances between pairs of points."""

import numpy as np

prange = range
SIZES = {"n": 2000000}


def inputs(random, n):
    return (n, *(random.random(n) for _ in range(4)), np.zeros(n))


def loops(n, a, b, c, d, out):
    for i in prange(n):
        s = np.sin((c[i] - a[i]) * 0.5)
        t = np.sin((d[i] - b[i]) * 0.5)
        h = s * s + np.cos(a[i]) * np.cos(c[i]) * t * t
        out[i] = 2.0 * np.arctan2(np.sqrt(h), np.sqrt(1.0 - h))


def arrays(n, a, b, c, d, out):
    s = np.sin((c - a) * 0.5)
    t = np.sin((d - b) * 0.5)
    h = s * s + np.cos(a) * np.cos(c) * t * t
    out[:] = 2.0 * np.arctan2(np.sqrt(h), np.sqrt(1.0 - h))
