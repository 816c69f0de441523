// n=6 m=5
#include <stdlib.h>
void own_memory(int n, int m, double x[n][m]) {
  double *t = malloc(n * m * sizeof(double));
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      t[j * n + i] = x[i][j];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      x[i][j] = t[j * n + n - 1 - i];
#pragma endscop
}
