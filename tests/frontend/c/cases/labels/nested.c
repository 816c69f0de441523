// n=7
void f(int n, double a[n][n], double b[n][n], double c[n][n]) {
#pragma scop
  outer: for (int i = 0; i < n; i++)
    middle: for (int j = 0; j < n; j++) {
      double s = 0;
      inner: for (int k = 0; k < n; k++)
        s += a[i][k] * b[k][j];
      c[i][j] = s;
    }
#pragma endscop
}
