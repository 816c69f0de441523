/* [tsteps, n] -> { S0[t, i] -> [0, t, 0, i, 0]; S1[t, i] -> [0, t, 1, i, 0] } */

void kernel_jacobi_1d(int tsteps, int n, double A[n], double B[n])
{
  for (long c0 = 0; c0 < tsteps; c0 += 1) {
    for (long c1 = 1; c1 < n - 1; c1 += 1) {
      B[c1] = 0.33333 * (A[c1 - 1] + A[c1] + A[c1 + 1]);
    }
    for (long c1 = 1; c1 < n - 1; c1 += 1) {
      A[c1] = 0.33333 * (B[c1 - 1] + B[c1] + B[c1 + 1]);
    }
  }
}
