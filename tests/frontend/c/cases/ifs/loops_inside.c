// n=9
void f(int n, double a[n][n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) if (b[i] > 0.1) for (int j = 0; j < n; j++) { a[i][j] = b[j]; b[j] += a[j][i] * 0.1; }
#pragma endscop
}
