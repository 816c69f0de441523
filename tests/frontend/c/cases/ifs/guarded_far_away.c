// n=11
void f(int n, double a[n], double b[n], double c[n][n], int k[n]) {
  double t = 0;
#pragma scop
  for (int i = 0; i < n; i++) {
    if (k[i] > 2 && k[i] < n - 2) {
      b[k[i] + 2] += a[i];
      c[i][k[i] - 2] = b[k[i]];
      if (a[i] > 0.02 && i + 3 < k[i] * n) c[k[i]][i] = t++; else t = t * 0.5 + c[k[i]][0];
    } else if (k[i] > 2 * n) {
      for (int j = 0; j <= n; j++) c[j][i] = b[j + 1];
    }
    b[i] = k[i] > 2 * n ? a[i + 1] : b[i];
  }
  a[0] = t;
#pragma endscop
}
