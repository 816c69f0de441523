// n=9
static void minmax(const double *v, int n, double *lo, double *hi) { *lo = v[0]; *hi = v[0]; for (int i = 1; i < n; i++) { if (v[i] < *lo) *lo = v[i]; if (v[i] > *hi) *hi = v[i]; } }
void f(int n, double a[n], double r[2]) {
  double lo, hi;
#pragma scop
  minmax(a, n, &lo, &hi);
  r[0] = lo; r[1] = hi;
#pragma endscop
}
