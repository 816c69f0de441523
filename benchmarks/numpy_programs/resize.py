"""Bilinear interpolation of an image of bytes at given positions."""

import numpy as np

prange = range
SIZES = {"n": 512, "m": 512, "h": 900, "w": 900}


def inputs(random, n, m, h, w):
    image = random.integers(0, 256, (n, m)).astype(np.uint8)
    y, x = np.arange(h) * ((n - 1.01) / h), np.arange(w) * ((m - 1.01) / w)
    row, col = y.astype(np.int32), x.astype(np.int32)
    fy, fx = (y - row).astype(np.float32), (x - col).astype(np.float32)
    return n, m, h, w, image, row, col, fy, fx, np.zeros((h, w), np.uint8)


def loops(n, m, h, w, image, row, col, fy, fx, out):
    one = np.float32(1.0)
    for i in prange(h):
        for j in range(w):
            r, c = row[i], col[j]
            top = np.float32(image[r, c]) * (one - fx[j]) + np.float32(image[r, c + 1]) * fx[j]
            left, right = np.float32(image[r + 1, c]), np.float32(image[r + 1, c + 1])
            low = left * (one - fx[j]) + right * fx[j]
            out[i, j] = np.uint8(top * (one - fy[i]) + low * fy[i] + np.float32(0.5))
