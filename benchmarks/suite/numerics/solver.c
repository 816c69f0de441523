#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  int n, nnz;
  int *ptr, *col;
  double *val;
} csr_matrix;

static void spmv(const csr_matrix *A, const double *x, double *y) {
  /* nest: csr */
  for (int i = 0; i < A->n; i++) {
    double t = 0.0;
    for (int k = A->ptr[i]; k < A->ptr[i + 1]; k++) t += A->val[k] * x[A->col[k]];
    y[i] = t;
  }
}

static double dot(int n, const double *x, const double *y) {
  double s = 0.0;
  /* nest: dot */
  for (int i = 0; i < n; i++) s += x[i] * y[i];
  return s;
}

static void axpby(int n, double a, const double *x, double b, double *y) {
  /* nest: axpby */
  for (int i = 0; i < n; i++) y[i] = a * x[i] + b * y[i];
}

static csr_matrix laplace(int m) {
  csr_matrix A = {m * m, 0, malloc(sizeof(int) * (m * m + 1)), malloc(sizeof(int) * 5 * m * m), malloc(sizeof(double) * 5 * m * m)};
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++) {
      A.ptr[i * m + j] = A.nnz;
#define PUT(c, v) (A.col[A.nnz] = (c), A.val[A.nnz++] = (v))
      if (i > 0) PUT((i - 1) * m + j, -1);
      if (j > 0) PUT(i * m + j - 1, -1);
      PUT(i * m + j, 4.1);
      if (j + 1 < m) PUT(i * m + j + 1, -1);
      if (i + 1 < m) PUT((i + 1) * m + j, -1);
    }
  A.ptr[m * m] = A.nnz;
  return A;
}

int main(int argc, char **argv) {
  int m = argc > 1 ? atoi(argv[1]) : 16, n = m * m, it;
  csr_matrix A = laplace(m);
  double *x = calloc(n, 8), *r = malloc(8 * n), *p = malloc(8 * n), *q = malloc(8 * n);
  for (int i = 0; i < n; i++) r[i] = p[i] = 1 + i % 3;
  double rr = dot(n, r, r);
  for (it = 0; it < 200 && rr > 1e-12; it++) {
    spmv(&A, p, q);
    double alpha = rr / dot(n, p, q);
    /* nest: update */
    for (int i = 0; i < n; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    double next = dot(n, r, r);
    axpby(n, 1.0, r, next / rr, p);
    rr = next;
  }
  double s = 0;
  for (int i = 0; i < n; i++) s += x[i] * (i % 4);
  printf("solver %.6f\n", s);
  return 0;
}
