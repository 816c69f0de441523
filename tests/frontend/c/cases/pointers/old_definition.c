// n=9 m=5
void f(n, m, x, y) int n, m; double x[n]; float *y; {
#pragma scop
  assert(m <= n);
  for (int i = 0; i < m; i++) { x[i] = y[i] * 2; }
#pragma endscop
}
