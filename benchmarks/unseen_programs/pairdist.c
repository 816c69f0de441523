#include <math.h>
/* Weighted distances of all pairs of rows, the lower triangle and its mirror. */
void pairdist(int n, int d, double x[n][d], double w[d], double out[n][n])
{
#pragma scop
  for (int i = 0; i < n; i++) {
    out[i][i] = 0;
    for (int j = 0; j < i; j++) {
      double s = 0;
      for (int k = 0; k < d; k++)
        s += w[k] * (x[i][k] - x[j][k]) * (x[i][k] - x[j][k]);
      out[i][j] = out[j][i] = sqrt(s);
    }
  }
#pragma endscop
}
