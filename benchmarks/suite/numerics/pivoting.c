#include <stdio.h>
#include <stdlib.h>
#include <math.h>

/* Elimination with pivots on an array of rows; rows change places as pointers. */
static int solve(double **a, double *b, int n)
{
    int i, j, k, p;
    double *row, t;
    /* nest: gauss */
    for (k = 0; k < n; k++) {
        p = k;
        for (i = k + 1; i < n; i++)
            if (fabs(a[i][k]) > fabs(a[p][k]))
                p = i;
        if (fabs(a[p][k]) < 1e-12)
            return -1;
        row = a[p]; a[p] = a[k]; a[k] = row;
        t = b[p]; b[p] = b[k]; b[k] = t;
        for (i = k + 1; i < n; i++) {
            double f = a[i][k] / a[k][k];
            for (j = k; j < n; j++)
                a[i][j] -= f * a[k][j];
            b[i] -= f * b[k];
        }
    }
    /* nest: back */
    for (i = n - 1; i >= 0; i--) {
        for (j = i + 1; j < n; j++)
            b[i] -= a[i][j] * b[j];
        b[i] /= a[i][i];
    }
    return 0;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 30;
    double **a = malloc(n * sizeof(double *)), *b = malloc(n * sizeof(double));
    for (int i = 0; i < n; i++) {
        a[i] = malloc(n * sizeof(double));
        for (int j = 0; j < n; j++)
            a[i][j] = (i * j * 7 + i + 3 * j) % 23 - 11 + (i == j ? 0.5 : 0);
        b[i] = i % 4;
    }
    int status = solve(a, b, n);
    double s = 0;
    for (int i = 0; i < n; i++)
        s += fabs(b[i]);
    printf("pivoting %d %.5f\n", status, s);
    return 0;
}
