// n=4 m=5
#include <stddef.h>
void declared_inside(size_t n, size_t m, double *x, double y[n][m]) {
  size_t all = n * m;
#pragma scop
  double t[n * m];
  for (size_t i = 0; i < all; i++)
    x[i] *= 2;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < m; j++)
      t[i * m + j] = x[i * m + j] + 1;
  for (size_t k = 0; k < n * m; k++)
    y[k / m][k % m] = t[k];
#pragma endscop
}
