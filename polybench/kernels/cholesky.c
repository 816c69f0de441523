/* Cholesky factorisation of a symmetric positive definite matrix: A = L L^T,
   L lower triangular, written over the lower triangle of A. */
#include <math.h>

void init_cholesky(int n, double A[n][n])
{
#pragma scop
  /* A lower triangular matrix L in A: l[i][j] = 1 - j / n below the diagonal, 1 on it. */
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++)
      A[i][j] = (double)(-j % n) / n + 1;
    for (int j = i + 1; j < n; j++)
      A[i][j] = 0.0;
    A[i][i] = 1.0;
  }

  /* Then A = L L^T, positive definite, without a second matrix: the half above the diagonal is
     summed where L has zeros, then the diagonal (the last term is 1), and L is overwritten last. */
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++)
      for (int k = 0; k <= i; k++)
        A[i][j] += A[i][k] * A[j][k];
  for (int i = 0; i < n; i++) {
    A[i][i] = 0.0;
    for (int k = 0; k < i; k++)
      A[i][i] += A[i][k] * A[i][k];
    A[i][i] += 1.0;
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      A[i][j] = A[j][i];
#pragma endscop
}

void kernel_cholesky(int n, double A[n][n])
{
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++) {
      for (int k = 0; k < j; k++)
        A[i][j] -= A[i][k] * A[j][k];
      A[i][j] /= A[j][j];
    }
    for (int k = 0; k < i; k++)
      A[i][i] -= A[i][k] * A[i][k];
    A[i][i] = sqrt(A[i][i]);
  }
#pragma endscop
}
