/* QR factorisation by the modified Gram-Schmidt process: A = Q R.
   Column k is normalised into Q, then its direction is taken out of all later columns of A.
   There are more columns than rows, so the last columns of Q are rounding errors scaled to length
   one: fused multiply-adds, which round differently, would give other numbers altogether. */
#include <math.h>

#pragma STDC FP_CONTRACT OFF

void init_gramschmidt(int m, int n, double A[m][n], double R[n][n], double Q[m][n])
{
#pragma scop
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      A[i][j] = (((double)((i * j) % m) / m) * 100) + 10;
      Q[i][j] = 0.0;
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      R[i][j] = 0.0;
#pragma endscop
}

void kernel_gramschmidt(int m, int n, double A[m][n], double R[n][n], double Q[m][n])
{
  double nrm;

#pragma scop
  for (int k = 0; k < n; k++) {
    nrm = 0.0;
    for (int i = 0; i < m; i++)
      nrm += A[i][k] * A[i][k];
    R[k][k] = sqrt(nrm);
    for (int i = 0; i < m; i++)
      Q[i][k] = A[i][k] / R[k][k];
    for (int j = k + 1; j < n; j++) {
      R[k][j] = 0.0;
      for (int i = 0; i < m; i++)
        R[k][j] += Q[i][k] * A[i][j];
      for (int i = 0; i < m; i++)
        A[i][j] = A[i][j] - Q[i][k] * R[k][j];
    }
  }
#pragma endscop
}
