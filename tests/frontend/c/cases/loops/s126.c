// n=9
void f(int n, double bb[n][n], double flat[n * n], double cc[n][n]) {
  int k = 0;
#pragma scop
  for (int i = 0; i < n; i++) { for (int j = 1; j < n; j++) { bb[j][i] = bb[j - 1][i] + flat[k] * cc[j][i]; ++k; } ++k; }
#pragma endscop
}
