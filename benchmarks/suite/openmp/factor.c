#include <stdio.h>
#include <stdlib.h>

/* Elimination without pivots: the rows below a pivot are shared between threads. */
static void eliminate(float *m, int order)
{
    /* nest: pivots */
    for (int p = 0; p < order; p++) {
#pragma omp parallel for schedule(static, 4)
        for (int r = p + 1; r < order; r++) {
            float ratio = m[r * order + p] / m[p * order + p];
            m[r * order + p] = ratio;
            for (int c = p + 1; c < order; c++)
                m[r * order + c] -= ratio * m[p * order + c];
        }
    }
}

/* Solves with both factors, in place. */
static void substitute(const float *m, float *b, int order)
{
    int r, c;
    /* nest: down */
    for (r = 1; r < order; r++)
        for (c = 0; c < r; c++)
            b[r] -= m[r * order + c] * b[c];
    /* nest: up */
    for (r = order - 1; r >= 0; r--) {
        for (c = r + 1; c < order; c++)
            b[r] -= m[r * order + c] * b[c];
        b[r] /= m[r * order + r];
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 40;
    float *m = malloc(sizeof(float) * n * n), *b = malloc(sizeof(float) * n);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            m[i * n + j] = (float)((i * 3 + j * 7) % 11) + (i == j ? 50.f : 0.f);
        b[i] = (float)(i % 5);
    }
    eliminate(m, n);
    substitute(m, b, n);
    double s = 0;
    for (int i = 0; i < n * n; i++) s += m[i];
    for (int i = 0; i < n; i++) s += 10 * b[i];
    printf("factor %.2f\n", s);
    free(m);
    free(b);
    return 0;
}
