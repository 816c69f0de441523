/* Distances between all pairs of two sets of points. */
#include <math.h>
void distance_matrix(int n, int m, int d, double x[n][d], double y[m][d], double out[n][m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      double sum = 0.0;
      for (int k = 0; k < d; k++)
        sum += (x[i][k] - y[j][k]) * (x[i][k] - y[j][k]);
      out[i][j] = sqrt(sum);
    }
#pragma endscop
}
