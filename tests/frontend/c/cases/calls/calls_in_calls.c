// n=9
double g[20];
void inner(double t) { g[0] = g[1] + t; }
void outer(int k, double *o) { inner(k * 1.5); *o = g[0]; o[1] = 2; }
void f(int n, double x[n], double s[1]) {
  assert(n > 1);
#pragma scop
  for (int i = 0; i + 1 < n; i++) { double z; z = i; outer(i, &x[i]); outer(2, x + i); s[0] += z; }
#pragma endscop
}
