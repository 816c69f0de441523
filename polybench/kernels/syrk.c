/* Symmetric rank-k update of the lower triangle: C = alpha A A^T + beta C. */

void init_syrk(int n, int m, double *alpha, double *beta, double C[n][n], double A[n][m])
{
#pragma scop
  *alpha = 1.5;
  *beta = 1.2;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      A[i][j] = (double)((i * j + 1) % n) / n;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      C[i][j] = (double)((i * j + 2) % m) / m;
#pragma endscop
}

void kernel_syrk(int n, int m, double alpha, double beta, double C[n][n], double A[n][m])
{
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++)
      C[i][j] *= beta;
    for (int k = 0; k < m; k++)
      for (int j = 0; j <= i; j++)
        C[i][j] += alpha * A[i][k] * A[j][k];
  }
#pragma endscop
}
