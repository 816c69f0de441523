/* A rank-2 update followed by two matrix-vector products:
   A = A + u1 v1^T + u2 v2^T, x = x + beta A^T y + z, w = w + alpha A x. */

void init_gemver(int n, double *alpha, double *beta, double A[n][n], double u1[n], double v1[n],
                 double u2[n], double v2[n], double w[n], double x[n], double y[n], double z[n])
{
#pragma scop
  *alpha = 1.5;
  *beta = 1.2;
  for (int i = 0; i < n; i++) {
    u1[i] = i;
    u2[i] = ((i + 1) / (double)n) / 2.0;
    v1[i] = ((i + 1) / (double)n) / 4.0;
    v2[i] = ((i + 1) / (double)n) / 6.0;
    y[i] = ((i + 1) / (double)n) / 8.0;
    z[i] = ((i + 1) / (double)n) / 9.0;
    x[i] = 0.0;
    w[i] = 0.0;
    for (int j = 0; j < n; j++)
      A[i][j] = (double)(i * j % n) / n;
  }
#pragma endscop
}

void kernel_gemver(int n, double alpha, double beta, double A[n][n], double u1[n], double v1[n],
                   double u2[n], double v2[n], double w[n], double x[n], double y[n], double z[n])
{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      x[i] = x[i] + beta * A[j][i] * y[j];
  for (int i = 0; i < n; i++)
    x[i] = x[i] + z[i];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      w[i] = w[i] + alpha * A[i][j] * x[j];
#pragma endscop
}
