// n=7
#include <stddef.h>
// A signed counter or a pointer that steps by 1 until it is equal to its end.
typedef float sample;
void until_equal(int n, sample *p, double *a) {
  sample *end = p + n;
#pragma scop
  for (sample *q = p; q != end; ++q)
    *q = *q * *q * 3;
  for (int i = 0; i != n; i++)
    for (long j = i; j != 0; --j)
      a[i] += j;
  for (size_t k = 0; k != n; k++)
    a[k] *= 2;
#pragma endscop
}
