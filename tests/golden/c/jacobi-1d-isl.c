/* [tsteps, n] -> { S0[t, i] -> [t, 2t + i, 0]; S1[t, i] -> [t, 2t + i + 1, 1] } */

void kernel_jacobi_1d(int tsteps, int n, double A[n], double B[n])
{
  if (n >= 3) {
    for (long c0 = 0; c0 < tsteps; c0 += 1) {
      for (long c1 = 2 * c0 + 1; c1 < n + 2 * c0; c1 += 1) {
        if (n + 2 * c0 >= c1 + 2) {
          B[-2 * c0 + c1] = 0.33333 * (A[-2 * c0 + c1 - 1] + A[-2 * c0 + c1] + A[-2 * c0 + c1 + 1]);
        }
        if (c1 >= 2 * c0 + 2) {
          A[-2 * c0 + c1 - 1] = 0.33333 * (B[-2 * c0 + c1 - 2] + B[-2 * c0 + c1 - 1] + B[-2 * c0 + c1]);
        }
      }
    }
  }
}
