// refused: a product of complex numbers must not stand where it may not be evaluated
#include <complex.h>
void f(int n, double complex a[n], double x[n]) {
#pragma scop
  for (int i = 1; i < n; i++) x[i] = x[i] > 0 ? creal((a[i] + 1) * a[i - 1]) : 0;
#pragma endscop
}
