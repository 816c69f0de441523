/* [n] -> { S0[i] -> [0, i, 0, 0, 0]; S1[i, j] -> [0, i, 1, -j, 0] } */

void f(int n, int A[n], int B[n])
{
  for (long c0 = 1; c0 < n; c0 += 3) {
    A[c0] = B[c0] % 7;
    for (long c1 = -n + 1; c1 < -c0; c1 += 2) {
      B[-c1] = B[-c1] + A[c0] * ((int)-c1);
    }
  }
}
