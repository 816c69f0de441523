// refused: uses the global s
double s;
void set(double *v, int a) { double q = a; q += s; v[0] = q; }
void f(int n, double x[n]) {
 double s = 2; s += 1;
#pragma scop
  for (int i = 0; i < n; i++) { set(x + i, i); x[0] = s; }
#pragma endscop
}
