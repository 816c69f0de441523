#include <stdio.h>
#include <stdlib.h>
#define N_MAX 2000
#define SQ(x) ((x) * (x))

static double A[512], B[512], C[512], D[512], X[512];

/* Three diagonals: forward, then back. */
void tridiagonal(int n)
{
    int i;
    /* nest: forward */
    for (i = 1; i < n; i++) {
        double m = A[i] / B[i - 1];
        B[i] -= m * C[i - 1];
        D[i] -= m * D[i - 1];
    }
    X[n - 1] = D[n - 1] / B[n - 1];
    /* nest: back */
    for (i = n - 2; i >= 0; i--)
        X[i] = (D[i] - C[i] * X[i + 1]) / B[i];
}

/* Differences in a triangle, in place. */
void differences(double *y, const double *x, int n)
{
    /* nest: newton */
    for (int k = 1; k < n; k++)
        for (int i = n - 1; i >= k; i--)
            y[i] = (y[i] - y[i - 1]) / (x[i] - x[i - k]);
}

double simpson(const double f[], int n, double h)
{
    double odd = 0, even = 0;
    int i = 1;
    /* nest: simpson */
    while (i < n) {
        odd += f[i];
        if (i + 1 < n)
            even += f[i + 1];
        i += 2;
    }
    return h / 3 * (f[0] + 4 * odd + 2 * even + f[n]);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 100, i;
    double y[40], x[40], s = 0;
    static double f[N_MAX + 1];
    if (n > 512) n = 512;
    for (i = 0; i < n; i++) { A[i] = C[i] = -1; B[i] = 2.5; D[i] = SQ(i % 7); }
    for (i = 0; i < 40; i++) { x[i] = i * 0.5; y[i] = 1.0 / (1 + x[i]); }
    for (i = 0; i <= N_MAX; i++) f[i] = SQ(i * 0.001);
    tridiagonal(n);
    differences(y, x, 12);
    for (i = 0; i < n; i++) s += X[i] * i;
    printf("interpolation %.6f %.8f %.8f\n", s, y[5], simpson(f, N_MAX, 0.001));
    return 0;
}
