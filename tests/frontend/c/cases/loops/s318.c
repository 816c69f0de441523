// n=16 inc=2
#include <math.h>
void f(int n, int inc, double a[n * inc], double r[2]) {
  int k, index; double mx;
  assert(inc >= 1);
#pragma scop
  k = 0; index = 0; mx = fabs(a[0]); k += inc;
  for (int i = 1; i < n; i++) { if (fabs(a[k]) > mx) { index = i; mx = fabs(a[k]); } k += inc; }
  r[0] = mx; r[1] = index;
#pragma endscop
}
