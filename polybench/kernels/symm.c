/* Product with a symmetric matrix: C = alpha A B + beta C, where only the lower triangle of A is
   read: column k < i of row i serves C[i] (through temp2) and, mirrored, C[k]. */

void init_symm(int m, int n, double *alpha, double *beta, double C[m][n], double A[m][m],
               double B[m][n])
{
#pragma scop
  *alpha = 1.5;
  *beta = 1.2;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      C[i][j] = (double)((i + j) % 100) / m;
      B[i][j] = (double)((n + i - j) % 100) / m;
    }
  for (int i = 0; i < m; i++) {
    for (int j = 0; j <= i; j++)
      A[i][j] = (double)((i + j) % 100) / m;
    /* a value that would be noticed: the upper triangle is not to be read */
    for (int j = i + 1; j < m; j++)
      A[i][j] = -999;
  }
#pragma endscop
}

void kernel_symm(int m, int n, double alpha, double beta, double C[m][n], double A[m][m],
                 double B[m][n])
{
  double temp2;

#pragma scop
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      temp2 = 0;
      for (int k = 0; k < i; k++) {
        C[k][j] += alpha * B[i][j] * A[i][k];
        temp2 += B[k][j] * A[i][k];
      }
      C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * temp2;
    }
#pragma endscop
}
