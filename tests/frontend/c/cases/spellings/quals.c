// n=9
void f(register int n, volatile double a[n], const double *__restrict__ b, const double *const __restrict c) {
  register int i;
#pragma scop
  for (i = 0; i < n; i++) a[i] = b[i] + c[i];
#pragma endscop
}
