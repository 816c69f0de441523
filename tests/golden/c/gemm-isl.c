/* [ni, nj, nk] -> { S0[i, j] -> [i, j, 0, 0]; S1[i, k, j] -> [i, j, k, 1] } */

void kernel_gemm(int ni, int nj, int nk, double alpha, double beta, double C[ni][nj], double A[ni][nk], double B[nk][nj])
{
  for (long c0 = 0; c0 < ni; c0 += 1) {
    for (long c1 = 0; c1 < nj; c1 += 1) {
      C[c0][c1] = C[c0][c1] * beta;
      for (long c2 = 0; c2 < nk; c2 += 1) {
        C[c0][c1] = C[c0][c1] + alpha * A[c0][c2] * B[c2][c1];
      }
    }
  }
}
