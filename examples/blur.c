void blur(int n, int m, double a[n][m], double b[n][m]) {
#pragma scop
  for (int j = 1; j < m - 1; j++)
    for (int i = 0; i < n; i++)
S:    b[i][j] = (a[i][j - 1] + a[i][j] + a[i][j + 1]) / 3.0;
#pragma endscop
}
