// refused: a is of type double _Complex
#include <complex.h>
void f(int n, double complex a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = a[i] * 2;
#pragma endscop
}
