/* [n] -> { S0[i] -> [0, i, 0]; S1[i, j] -> [1, i, j]; S2[i] -> [1, i, i] } */

void kernel_trisolv(int n, double L[n][n], double x[n], double b[n])
{
  for (long c0 = 0; c0 < n; c0 += 1) {
    x[c0] = b[c0];
  }
  for (long c0 = 0; c0 < n; c0 += 1) {
    for (long c1 = 0; c1 < c0; c1 += 1) {
      x[c0] = x[c0] - L[c0][c1] * x[c1];
    }
    x[c0] = x[c0] / L[c0][c0];
  }
}
