// n=9
static void add(int n, double *to, double *from) { for (int i = 0; i < n; i++) to[i] += from[i]; }
static double sum(int n, double a[n]) { double s = 0; int i; for (i = 0; i < n; i++) s += a[i]; return s; }
static double at(double *a, int i) { return a[i] * 2; }
void f(int n, double A[n][n], double x[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { add(n, A[i], x); x[i] = sum(n, A[i]) * 0.1 + at(x, i) + at(A[i], 0); }
#pragma endscop
}
