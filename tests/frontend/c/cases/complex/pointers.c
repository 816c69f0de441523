// n=9
#include <complex.h>
static double _Complex twiddle[64];
void f(int n, float complex *z, float w[n]) {
  assert(n <= 64);
#pragma scop
  for (int i = 1; i < n; i++) {
    z[i] = z[i - 1] * z[i] - w[i];
    *z = *z + z[i];
    twiddle[i] = w[i] + z[i] * I;
  }
#pragma endscop
}
