/* Linear algebra on a small matrix type. */
#include <assert.h>
#include <math.h>
#include "checks.h"
#include "matrix.h"

#define E(m, i, j) ((m)->v[(i) * (m)->cols + (j)])

static mat_t *mat(int rows, int cols)
{
    mat_t *m = malloc(sizeof(mat_t));
    m->rows = rows;
    m->cols = cols;
    m->v = calloc((size_t)rows * cols, sizeof(real));
    return m;
}

static void mul(const mat_t *a, const mat_t *b, mat_t *c)
{
    assert(a->cols == b->rows);
    /* nest: mul */
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < b->cols; j++) {
            real s = 0;
            for (int k = 0; k < a->cols; k++)
                s += E(a, i, k) * E(b, k, j);
            E(c, i, j) = s;
        }
}

static void transpose(const mat_t *a, mat_t *t)
{
    const int n = a->rows, m = a->cols;
    /* nest: transpose */
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            t->v[j * n + i] = a->v[i * m + j];
}

static int cholesky(mat_t *a)
{
    int n = a->rows;
    /* nest: cholesky */
    for (int j = 0; j < n; j++) {
        real d = E(a, j, j);
        for (int k = 0; k < j; k++)
            d -= E(a, j, k) * E(a, j, k);
        if (d <= 0)
            return j + 1;
        d = sqrt(d);
        E(a, j, j) = d;
        for (int i = j + 1; i < n; i++) {
            real s = E(a, i, j);
            for (int k = 0; k < j; k++)
                s -= E(a, i, k) * E(a, j, k);
            E(a, i, j) = s / d;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    int n = size_argument(argc, argv, 1, 24);
    mat_t *a = mat(n, n + 2), *t = mat(n + 2, n), *c = mat(n, n);
    for (int i = 0; i < n * (n + 2); i++)
        a->v[i] = (i * 5 % 17 - 8) * 0.25;
    transpose(a, t);
    mul(a, t, c);
    for (int i = 0; i < n; i++)
        E(c, i, i) += n;
    int bad = cholesky(c);
    double s = bad;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            s += E(c, i, j) * (j + 1);
    report("dense", s);
    return 0;
}
