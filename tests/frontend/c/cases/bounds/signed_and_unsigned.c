// n=9 m=7
typedef unsigned int whole;
void signs(int n, int m, int a[n], int k[n], unsigned u[n], double x[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = -3; j < m && j < k[i] - 2; j++)
      a[i] += j;
    for (int j = m; j > 0 && j > u[i]; j -= 2)
      a[i] -= j;
    for (int j = 0; j < m && j <= x[i] * 4; j++)
      a[i] += 2 * j;
  }
  for (whole w = 8; w-- > 2;)
    a[w] ^= 1;
#pragma endscop
}
