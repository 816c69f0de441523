/* Matrix transpose times matrix times vector: y = A^T (A x).
   Row i of A is used twice: for tmp[i] = A[i] . x, then for y += tmp[i] A[i]. */

void init_atax(int m, int n, double A[m][n], double x[n])
{
#pragma scop
  for (int i = 0; i < n; i++)
    x[i] = 1 + (i / (double)n);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      A[i][j] = (double)((i + j) % n) / (5 * m);
#pragma endscop
}

void kernel_atax(int m, int n, double A[m][n], double x[n], double y[n], double tmp[m])
{
#pragma scop
  for (int i = 0; i < n; i++)
    y[i] = 0.0;
  for (int i = 0; i < m; i++) {
    tmp[i] = 0.0;
    for (int j = 0; j < n; j++)
      tmp[i] = tmp[i] + A[i][j] * x[j];
    for (int j = 0; j < n; j++)
      y[j] = y[j] + A[i][j] * tmp[i];
  }
#pragma endscop
}
