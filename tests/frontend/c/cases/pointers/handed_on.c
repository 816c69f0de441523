// n=9
static void add(double *x, const double *y, int n) { for (int i = 0; i < n; i++) x[i] += y[i]; }
void f(double *x, double *y, int n) {
#pragma scop
  add(x, y, n); add(y + 2, x, n);
#pragma endscop
}
