// n=12
void f(int n, double x[n], double y[n]) {
  int i, ip1, half = n / 2, lo = half - 2, hi = lo + 4;
#pragma scop
  for (i = lo; i < hi; i++) { ip1 = i + 1; if (ip1 >= n) ip1 = 0; if (i >= 0 && i < n) x[i] = y[ip1]; }
#pragma endscop
}
