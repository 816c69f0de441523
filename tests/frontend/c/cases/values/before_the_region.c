// n=9
void f(int n, double x[n], double y[n+1]) {
  int m, lo;
  m = n / 2;
  if (n > 4) lo = 1; else lo = 0;
#pragma scop
  for (int i = lo; i < m; i++) { int t; if (i % 2) t = i + 1; else t = i; x[t] = y[t] + t; y[t] = m; }
#pragma endscop
}
