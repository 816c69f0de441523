"""Forces between all pairs of bodies."""

import numpy as np

prange = range
SIZES = {"n": 2500}


def inputs(random, n):
    return n, random.random((n, 3)), random.random(n), np.zeros((n, 3))


def loops(n, pos, mass, acc):
    for i in prange(n):
        ax = ay = az = 0.0
        for j in range(n):
            dx = pos[j, 0] - pos[i, 0]
            dy = pos[j, 1] - pos[i, 1]
            dz = pos[j, 2] - pos[i, 2]
            r2 = dx * dx + dy * dy + dz * dz + 0.01
            w = mass[j] / (r2 * np.sqrt(r2))
            ax += w * dx
            ay += w * dy
            az += w * dz
        acc[i, 0] = ax
        acc[i, 1] = ay
        acc[i, 2] = az
