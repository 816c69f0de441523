#ifndef MATRIX_H
#define MATRIX_H
#include <stdlib.h>

typedef double real;
typedef real **Matrix;

typedef struct {
    int rows;
    int cols;
    real *v;
} mat_t;

static inline Matrix matrix_alloc(int n, int m)
{
    Matrix a = (Matrix)malloc(n * sizeof(real *));
    for (int i = 0; i < n; i++)
        a[i] = (real *)calloc(m, sizeof(real));
    return a;
}

static inline void matrix_free(Matrix a, int n)
{
    for (int i = 0; i < n; i++)
        free(a[i]);
    free(a);
}

#endif
