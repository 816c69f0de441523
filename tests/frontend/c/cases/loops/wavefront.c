// n=7
void f(int n, int a[n][n]) {
#pragma scop
  for (int d = 2; d <= 2 * (n - 1); d++) for (int i = (d - (n - 1) > 1 ? d - (n - 1) : 1); i <= (d - 1 < n - 1 ? d - 1 : n - 1); i++) a[i][d - i] = a[i - 1][d - i] + a[i][d - i - 1];
#pragma endscop
}
