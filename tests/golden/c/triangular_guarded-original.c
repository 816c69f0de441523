/* [n] -> { S0[i, j] -> [0, i, 0, j, 0]; S1[i, j] -> [0, i, 0, j, 1]; S2[i, j] -> [0, i, 0, j, 2] } */

void f(int n, long A[n][n], long s[1])
{
  for (long c0 = 0; c0 < n; c0 += 1) {
    for (long c1 = 0; c1 <= c0; c1 += 1) {
      if (c1 >= 1 && c0 % 2 == 0) {
        A[c0][c1] = A[c0][c1 - 1] + (long)((int)c0);
      } else {
        A[c0][c1] = A[c1][c0] - (long)((int)c1);
      }
      s[0] = s[0] + A[c0][c1];
    }
  }
}
