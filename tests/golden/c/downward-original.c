/* [n] -> { S0[i] -> [0, -i, 0] } */

void f(int n, double A[n + 1])
{
  for (long c0 = -n; c0 < 0; c0 += 1) {
    A[-c0] = A[-c0 - 1] * 0.5 + A[-c0];
  }
}
