// refused: 5:38: error: a quotient by a complex number is not supported
#include <complex.h>
void f(int n, double complex a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = 1 / a[i];
#pragma endscop
}
