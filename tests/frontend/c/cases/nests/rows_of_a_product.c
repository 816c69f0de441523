// n=5 m=7
void f(int n, int m, double A[n * m], double s[n]) {
  int row = 0;
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < m; j++)
      s[i] += A[row + j];
    row += m;
  }
#pragma endscop
}
