// n=8
void f(int n, double a[n][n][n]) {
  int i, j, k, w = 0;
#pragma scop
  for (i = 0; i < n; i++) { for (j = i + 1; j < n; j++) { w = j - i; for (k = 0; k < w; k++) a[i][j][k] += w * a[k][i][w]; } a[i][0][0] = w; }
#pragma endscop
}
