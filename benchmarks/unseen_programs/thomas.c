/* Tridiagonal systems, one for every right-hand side, the way it is written first: system by system. */
void thomas(int nrhs, int n, double lower[nrhs][n], double diag[nrhs][n], double upper[nrhs][n],
            double rhs[nrhs][n])
{
  int s, i;
  double w;
#pragma scop
  for (s = 0; s < nrhs; s++) {
    for (i = 0; i < n; i++)
      diag[s][i] = diag[s][i] + 3.0;
    for (i = 1; i < n; i++) {
      w = lower[s][i] / diag[s][i - 1];
      diag[s][i] -= w * upper[s][i - 1];
      rhs[s][i] -= w * rhs[s][i - 1];
    }
    rhs[s][n - 1] /= diag[s][n - 1];
    for (i = n - 2; i >= 0; i--)
      rhs[s][i] = (rhs[s][i] - upper[s][i] * rhs[s][i + 1]) / diag[s][i];
  }
#pragma endscop
}
