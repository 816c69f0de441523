#include "fluid.h"

/* Back along the velocity: the places that are read are data. */
void fluid_advect(int N, FLOAT *d, const FLOAT *d0, const FLOAT *u, const FLOAT *v, FLOAT dt)
{
    FLOAT most = N - 1.5;
    /* nest: advect */
    for (int j = 1; j < N - 1; j++)
        for (int i = 1; i < N - 1; i++) {
            FLOAT x = i - dt * u[IX(i, j)], y = j - dt * v[IX(i, j)];
            if (x < 0.5) x = 0.5;
            if (x > most) x = most;
            if (y < 0.5) y = 0.5;
            if (y > most) y = most;
            int i0 = (int)x, j0 = (int)y;
            FLOAT s = x - i0, t = y - j0;
            d[IX(i, j)] = (1 - s) * ((1 - t) * d0[IX(i0, j0)] + t * d0[IX(i0, j0 + 1)])
                        + s * ((1 - t) * d0[IX(i0 + 1, j0)] + t * d0[IX(i0 + 1, j0 + 1)]);
        }
}
