/* Iteration until the change is small, on rows of pointers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "matrix.h"

static double sweep(Matrix u, Matrix f, int n)
{
    double worst = 0.0;
    int i, j;
    /* nest: gauss_seidel */
    for (i = 1; i < n - 1; i++)
        for (j = 1; j < n - 1; j++) {
            double was = u[i][j];
            u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - f[i][j]);
            worst = fmax(worst, fabs(u[i][j] - was));
        }
    return worst;
}

static void residual(Matrix u, Matrix f, Matrix r, int n)
{
    /* nest: residual */
    for (int i = 1; i < n - 1; i++) {
        for (int j = 1; j < n - 1; j++)
            r[i][j] = f[i][j] - (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - 4 * u[i][j]);
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 34, rounds = 0;
    Matrix u = matrix_alloc(n, n), f = matrix_alloc(n, n), r = matrix_alloc(n, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            f[i][j] = ((i * j) % 5 - 2) * 0.01;
    /* nest: converge */
    while (sweep(u, f, n) > 1e-4 && rounds < 500)
        rounds++;
    residual(u, f, r, n);
    double s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            s += fabs(r[i][j]) + u[i][j];
    printf("poisson %d %.6f\n", rounds, s);
    matrix_free(u, n);
    matrix_free(f, n);
    matrix_free(r, n);
    return 0;
}
