"""Numbers of steps until points of the plane leave a circle."""

import numpy as np

prange = range
SIZES = {"n": 600, "m": 600, "steps": 60}


def inputs(random, n, m, steps):
    x, y = np.linspace(-2.0, 0.5, n), np.linspace(-1.2, 1.2, m)
    return n, m, steps, x, y, np.zeros((n, m), np.int32)


def loops(n, m, steps, x, y, count):
    for i in prange(n):
        for j in range(m):
            re, im, inside = 0.0, 0.0, 0
            for _ in range(steps):
                rr, ii = re * re, im * im
                if rr + ii >= 4.0:
                    break
                im = 2.0 * re * im + y[j]
                re = rr - ii + x[i]
                inside += 1
            count[i, j] = inside
