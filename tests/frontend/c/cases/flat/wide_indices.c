// n=4 m=6
#include <stddef.h>
void wide_indices(size_t n, long m, int *a, int *b) {
#pragma scop
  for (size_t i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      a[i * m + j] = b[(size_t)j * n + i] + 1;
#pragma endscop
}
