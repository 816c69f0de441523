// n=5,m=4
#include <stddef.h>
void counters_of_two_types(int n, int m, double *a, double *b) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      a[i * m + j] = b[j * n + i];
  for (size_t i = 0; i < (size_t)n; i++)
    for (long j = m - 1; j >= 0; j--)
      b[j * n + i] += a[i * m + j];
#pragma endscop
}
