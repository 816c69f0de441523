// n=9
void sc(int n, double *x, double k) { x[0] = k; if (n > 3) { for (int i = 1; i < n; i++) { int n2 = i; x[n2] = x[n2 - 1] * k; } } else x[1] = 2; }
void f(int n, double x[n], double y[n][20]) {
  assert(n > 1 && n < 20);
#pragma scop
  for (int n2 = 0; n2 < n; n2++) sc(n, y[n2], x[n2]);
  for (int i = 0; i < n; i += 2) sc(2, &y[i][3], 1.25);
#pragma endscop
}
