// n=9
void f(unsigned n, double x[n]) {
#pragma scop
  for (unsigned i = n; i > 0; i--) x[i - 1] = i;
  for (unsigned i = n - 1; i < n; i--) x[i] += i * 2;
  for (unsigned i = 0; i < n - 1; i++) x[i] += x[i + 1];
#pragma endscop
}
