/* [n] -> { S[i] -> [i, 0]; T[i, j] -> [i + j, i + 1] } */
#define polygym_min(a, b) ((a) < (b) ? (a) : (b))
#define polygym_max(a, b) ((a) > (b) ? (a) : (b))

void yax(int n, double y[n], double A[n][n], double x[n])
{
  for (long c0 = 0; c0 < 2 * n - 1; c0 += 1) {
    if (n >= c0 + 1) {
      y[c0] = 0.0;
    }
    for (long c1 = polygym_max(1, -n + c0 + 2); c1 <= polygym_min(n, c0 + 1); c1 += 1) {
      y[c1 - 1] = y[c1 - 1] + A[c1 - 1][c0 - c1 + 1] * x[c0 - c1 + 1];
    }
  }
}
