/* [m, n] -> { S0[i] -> [1, i, 0, 0]; S1[i] -> [0, i, 0, 0]; S2[i, j] -> [0, i, j, 1]; S3[i, j] -> [1, j, i, 1] } */

void kernel_atax(int m, int n, double A[m][n], double x[n], double y[n], double tmp[m])
{
  for (long c0 = 0; c0 < m; c0 += 1) {
    tmp[c0] = 0.0;
    for (long c1 = 0; c1 < n; c1 += 1) {
      tmp[c0] = tmp[c0] + A[c0][c1] * x[c1];
    }
  }
  for (long c0 = 0; c0 < n; c0 += 1) {
    y[c0] = 0.0;
    for (long c1 = 0; c1 < m; c1 += 1) {
      y[c0] = y[c0] + A[c1][c0] * tmp[c1];
    }
  }
}
