// n=9
void f(int n, double a[n][n], double x[n]) {
  int i, j;
#pragma scop
  for (i = 0; i < n; i++) { j = n - 1 - i; a[i][j] = x[j]; if (j > i) a[j][i] = 1; else if (j == i) continue_me: a[i][i] = 2; }
#pragma endscop
}
