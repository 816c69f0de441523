// n=6 m=7
void f(int n, int m, double *A, double *s) {
#pragma scop
  double *row = A;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < m; j++)
      s[i] += row[j];
    row += m;
  }
#pragma endscop
}
