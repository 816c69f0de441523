// n=7,m=5
void f(int n, int m, double A[n][m]) {
#pragma scop
  int i = 0;
  while (i < n) {
    int j = m;
    while (j-- > 0)
      A[i][j] = i - j;
    for (int k = 0; k < m; k++) {
      int t = k;
      while (t--)
        A[i][k] += t;
    }
    ++i;
  }
#pragma endscop
}
