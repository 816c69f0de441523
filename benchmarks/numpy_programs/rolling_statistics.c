/* Means and deviations of windows of many series. */
#include <math.h>
void rolling_statistics(int n, int m, int w, double x[n][m], double mean[n][m - w + 1],
                        double dev[n][m - w + 1]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m - w + 1; j++) {
      double sum = 0.0, square = 0.0;
      for (int k = 0; k < w; k++) {
        sum += x[i][j + k];
        square += x[i][j + k] * x[i][j + k];
      }
      mean[i][j] = sum / w;
      dev[i][j] = sqrt(square / w - sum / w * (sum / w));
    }
#pragma endscop
}
