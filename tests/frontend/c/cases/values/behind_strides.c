// n=19
void f(int n, double x[n], double y[n], int c[1]) {
  int i, k = 0, m = 0;
#pragma scop
  for (i = 0; i < n; i += 4) { if (i + 2 < n) x[i + 2] = i; k = k + 1; m += k; }
  c[0] = k + 100 * m + 10000 * i;
  for (i = n - 1; i >= 0; i -= 3) y[i] = k;
  c[0] += i;
#pragma endscop
}
