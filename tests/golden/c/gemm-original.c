/* [ni, nj, nk] -> { S0[i, j] -> [0, i, 0, j, 0, 0, 0]; S1[i, k, j] -> [0, i, 1, k, 0, j, 0] } */

void kernel_gemm(int ni, int nj, int nk, double alpha, double beta, double C[ni][nj], double A[ni][nk], double B[nk][nj])
{
  for (long c0 = 0; c0 < ni; c0 += 1) {
    for (long c1 = 0; c1 < nj; c1 += 1) {
      C[c0][c1] = C[c0][c1] * beta;
    }
    for (long c1 = 0; c1 < nk; c1 += 1) {
      for (long c2 = 0; c2 < nj; c2 += 1) {
        C[c0][c2] = C[c0][c2] + alpha * A[c0][c1] * B[c1][c2];
      }
    }
  }
}
