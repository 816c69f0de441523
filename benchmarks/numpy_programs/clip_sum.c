/* Integers cut to a range, scaled and added. */
void clip_sum(int n, int m, long a[n][m], long b[n][m], long out[n][m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      long x = a[i][j];
      x = x < 2 ? 2 : x;
      x = x > 10 ? 10 : x;
      out[i][j] = x * 4 + b[i][j] * 3 + 9;
    }
#pragma endscop
}
