"""A convolution of images with channels last, with a bias."""

import numpy as np

prange = range
SIZES = {"b": 8, "n": 32, "m": 32, "s": 3, "f": 3, "t": 16}


def inputs(random, b, n, m, s, f, t):
    image = random.random((b, n + s - 1, m + s - 1, f), np.float32)
    w, bias = random.random((s, s, f, t), np.float32), random.random(t, np.float32)
    return b, n, m, s, f, t, image, w, bias, np.zeros((b, n, m, t), np.float32)


def loops(b, n, m, s, f, t, image, w, bias, out):
    for p in prange(b):
        for i in range(n):
            for j in range(m):
                for o in range(t):
                    out[p, i, j, o] = bias[o]
                for u in range(s):
                    for v in range(s):
                        for c in range(f):
                            for o in range(t):
                                out[p, i, j, o] += image[p, i + u, j + v, c] * w[u, v, c, o]
