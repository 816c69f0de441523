// n=9
int base = 3;
double pick(double *v) { return v[0] > 0.5 ? v[0] : 1 - v[0]; }
void set(double *v, int a) { double q = a; q += base; v[0] = q; return; }
void f(int n, double x[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { set(x + i, i); x[i] += pick(&x[n - 1 - i]); }
#pragma endscop
}
