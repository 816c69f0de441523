/* The two products of the biconjugate gradient method, in one sweep over A:
   s = A^T r and q = A p. */

void init_bicg(int m, int n, double A[n][m], double r[n], double p[m])
{
#pragma scop
  for (int i = 0; i < m; i++)
    p[i] = (double)(i % m) / m;
  for (int i = 0; i < n; i++) {
    r[i] = (double)(i % n) / n;
    for (int j = 0; j < m; j++)
      A[i][j] = (double)(i * (j + 1) % n) / n;
  }
#pragma endscop
}

void kernel_bicg(int m, int n, double A[n][m], double s[m], double q[n], double p[m], double r[n])
{
#pragma scop
  for (int i = 0; i < m; i++)
    s[i] = 0.0;
  for (int i = 0; i < n; i++) {
    q[i] = 0.0;
    for (int j = 0; j < m; j++) {
      s[j] = s[j] + r[i] * A[i][j];
      q[i] = q[i] + A[i][j] * p[j];
    }
  }
#pragma endscop
}
