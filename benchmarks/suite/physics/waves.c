/* Membrane: leapfrog with three fields whose pointers rotate. */
#include <stdlib.h>
#include <stdio.h>
#include <math.h>

#define IX(i, j) ((i) * n + (j))

static void step(int n, const double *old, const double *now, double *next, double c2)
{
    /* nest: leapfrog */
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            next[IX(i, j)] = 2 * now[IX(i, j)] - old[IX(i, j)]
                + c2 * (now[IX(i - 1, j)] + now[IX(i + 1, j)] + now[IX(i, j - 1)] + now[IX(i, j + 1)] - 4 * now[IX(i, j)]);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 50;
    int steps = argc > 2 ? atoi(argv[2]) : 20;
    double *u[3];
    for (int k = 0; k < 3; k++)
        u[k] = calloc((size_t)n * n, sizeof **u);
    /* nest: start */
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            u[1][i * n + j] = u[0][i * n + j] = exp(-0.01 * ((i - n / 2) * (i - n / 2) + (j - n / 3) * (j - n / 3)));
    for (int t = 0; t < steps; t++) {
        step(n, u[t % 3], u[(t + 1) % 3], u[(t + 2) % 3], 0.25);
    }
    double s = 0;
    double *last = u[(steps + 1) % 3];
    /* nest: sum */
    for (int i = 0; i < n * n; i++)
        s += last[i] * last[i];
    printf("waves %.6f\n", s);
    return 0;
}
