/* tile=off unroll_jam=1 vector_bits=256 vector_copies=1 pack=off */

void f(int n, int m, double C[n][n], double A[n][m], float B[m][n], float D[m][n])
{
  for (long c0 = 0; c0 < m; c0 += 1) {
    for (long c1 = 0; c1 < n; c1 += 1) {
      for (long c2 = 0; c2 < m; c2 += 1) {
        D[c0][c1] = (float)((double)D[c0][c1] + ((double)B[c2][c1] * A[c1][m - c2 - 1] + A[c1][c2]));
      }
    }
  }
  for (long c0 = 0; c0 < n; c0 += 1) {
    for (long c1 = 0; c1 <= c0; c1 += 1) {
      for (long c2 = 0; c2 < m; c2 += 1) {
        C[c0][c1] = C[c0][c1] + A[c0][c2] * A[c1][c2];
      }
    }
  }
}
