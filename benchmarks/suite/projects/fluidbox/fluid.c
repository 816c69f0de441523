#include "fluid.h"

void set_edges(int b, FLOAT *x, int N)
{
    int i;
    /* nest: edges */
    for (i = 1; i < N - 1; i++) {
        x[IX(i, 0)] = b == 2 ? -x[IX(i, 1)] : x[IX(i, 1)];
        x[IX(i, N - 1)] = b == 2 ? -x[IX(i, N - 2)] : x[IX(i, N - 2)];
        x[IX(0, i)] = b == 1 ? -x[IX(1, i)] : x[IX(1, i)];
        x[IX(N - 1, i)] = b == 1 ? -x[IX(N - 2, i)] : x[IX(N - 2, i)];
    }
}

void fluid_diffuse(Fluid *f, int b, FLOAT *x, const FLOAT *x0, FLOAT rate)
{
    int N = f->n;
    FLOAT a = f->dt * rate * (N - 2) * (N - 2), c = 1 / (1 + 4 * a);
    /* nest: diffuse */
    for (int k = 0; k < ITERATIONS; k++) {
        for (int j = 1; j < N - 1; j++)
            for (int i = 1; i < N - 1; i++)
                x[IX(i, j)] = (x0[IX(i, j)] + a * (x[IX(i + 1, j)] + x[IX(i - 1, j)] + x[IX(i, j + 1)] + x[IX(i, j - 1)])) * c;
        set_edges(b, x, N);
    }
}

void fluid_project(Fluid *f, FLOAT *p, FLOAT *div)
{
    const int N = f->n;
    FLOAT *vx = f->vx, *vy = f->vy;
    /* nest: divergence */
    for (int j = 1; j < N - 1; j++)
        for (int i = 1; i < N - 1; i++) {
            div[IX(i, j)] = -0.5 * (vx[IX(i + 1, j)] - vx[IX(i - 1, j)] + vy[IX(i, j + 1)] - vy[IX(i, j - 1)]) / N;
            p[IX(i, j)] = 0;
        }
    set_edges(0, div, N);
    set_edges(0, p, N);
    fluid_diffuse(f, 0, p, div, 1);
    /* nest: correct */
    for (int j = 1; j < N - 1; j++) {
        for (int i = 1; i < N - 1; i++) {
            f->vx[IX(i, j)] -= 0.5 * (p[IX(i + 1, j)] - p[IX(i - 1, j)]) * N;
            f->vy[IX(i, j)] -= 0.5 * (p[IX(i, j + 1)] - p[IX(i, j - 1)]) * N;
        }
    }
}
