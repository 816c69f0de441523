// n=9
void f(int n, double x[n], unsigned m) {
  assert(m <= n);
#pragma scop
  for (int i = 0; i < n; i++) if (i - 5 < m) x[i] = 2; else x[i] = 3;
  for (int i = 0; i < n; i++) x[i] += i > -1u ? 5 : 7;
  for (int i = 0; i < n; i++) x[i] += (i - 4u) / 2 > 3 ? 50 : 70;
  for (int i = 0; i < n; i++) x[i] += (unsigned) i - 4 < 3;
#pragma endscop
}
