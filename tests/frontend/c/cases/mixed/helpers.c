// n=8
static inline double sq(double v) { return v * v; }
static double norm(const double *v, int m) { double s = 0; for (int q = 0; q < m; q++) s += sq(v[q]); return s; }
static void scale(double *v, int m, double by) { for (int q = 0; q < m; q++) v[q] *= by; }
static int idx(int i, int j, int ld) { return i * ld + j; }
void f(int n, double A[n][n], double w[64]) {
#pragma scop
  for (int i = 0; i < n; i++) { double s = norm(A[i], n); if (s > 0.5) scale(A[i], n, 1.0 / s); }
  for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) w[idx(i, j, 8)] = sq(i) + j;
#pragma endscop
}
