// n=9
#include <stddef.h>
void down(unsigned n, int a[n], size_t m, long b[m + 1]) {
  unsigned i;
  long k;
#pragma scop
  for (i = n; i-- > 0;)
    for (size_t j = m; j--;)
      a[i] += b[j] + i;
  for (k = m; k-- >= 2;)
    b[k + 1] -= k;
  b[0] = k + i;
#pragma endscop
}
