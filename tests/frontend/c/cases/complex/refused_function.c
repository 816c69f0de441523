// refused: cexp of complex numbers is not supported
#include <complex.h>
void f(int n, double complex a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = cexp(a[i]) * I;
#pragma endscop
}
