#include <stdio.h>
#include <stdlib.h>
#include <math.h>

/* Variable length arrays, as a person with a table writes them. */

static void standardise(int n, int m, double t[n][m], double mean[m], double dev[m])
{
    /* nest: moments */
    for (int j = 0; j < m; j++) {
        mean[j] = dev[j] = 0;
        for (int i = 0; i < n; i++)
            mean[j] += t[i][j];
        mean[j] /= n;
        for (int i = 0; i < n; i++)
            dev[j] += (t[i][j] - mean[j]) * (t[i][j] - mean[j]);
        dev[j] = sqrt(dev[j] / (n - 1));
        if (dev[j] < 1e-9)
            dev[j] = 1;
        for (int i = 0; i < n; i++)
            t[i][j] = (t[i][j] - mean[j]) / dev[j];
    }
}

static void correlate(int n, int m, double t[n][m], double c[m][m])
{
    /* nest: correlate */
    for (int j = 0; j < m; j++)
        for (int k = j; k < m; k++) {
            double s = 0;
            for (int i = 0; i < n; i++)
                s += t[i][j] * t[i][k];
            c[j][k] = c[k][j] = s / (n - 1);
        }
}

static void quantiles(const double *x, int n, int *bin, int bins)
{
    double lo = x[0], hi = x[0];
    /* nest: range */
    for (int i = 1; i < n; i++) {
        lo = fmin(lo, x[i]);
        hi = fmax(hi, x[i]);
    }
    for (int b = 0; b < bins; b++)
        bin[b] = 0;
    /* nest: bins */
    for (int i = 0; i < n; i++) {
        int b = (int)((x[i] - lo) / (hi - lo) * bins);
        if (b == bins)
            b--;
        bin[b]++;
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 100, m = 8;
    double (*t)[m] = malloc(sizeof(double[n][m])), mean[m], dev[m], c[m][m];
    int bin[10];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            t[i][j] = (i * (j + 2) * 13 % 37) + 0.5 * j * i;
    quantiles(&t[0][0], n * m, bin, 10);
    standardise(n, m, t, mean, dev);
    correlate(n, m, t, c);
    double s = 0;
    for (int j = 0; j < m; j++)
        for (int k = 0; k < m; k++)
            s += c[j][k] * (j + 2 * k);
    printf("statistics %.6f %d %d\n", s, bin[0], bin[5]);
    free(t);
    return 0;
}
