"""A 5 by 5 binomial filter on an image of bytes, in two passes."""

import numpy as np

prange = range
SIZES = {"n": 1080, "m": 1920}


def inputs(random, n, m):
    image = random.integers(0, 256, (n, m)).astype(np.uint8)
    return n, m, image, np.zeros((n, m - 4), np.uint16), np.zeros((n - 4, m - 4), np.uint8)


def loops(n, m, image, mid, out):
    for i in prange(n):
        for j in range(m - 4):
            ends, inner = image[i, j] + np.int32(image[i, j + 4]), np.int32(image[i, j + 1])
            mid[i, j] = ends + 4 * (inner + image[i, j + 3]) + 6 * np.int32(image[i, j + 2])
    for i in prange(n - 4):
        for j in range(m - 4):
            ends, inner = mid[i, j] + np.int32(mid[i + 4, j]), np.int32(mid[i + 1, j])
            total = ends + 4 * (inner + mid[i + 3, j]) + 6 * np.int32(mid[i + 2, j])
            out[i, j] = (total + 128) >> 8
