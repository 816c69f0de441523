/* Corners by Harris: blur, derivatives by Sobel, their products, box sums, response. */
#include <stdlib.h>

void harris(int n, int m, float in[n][m], float out[n][m]) {
  float(*blur)[m] = malloc(sizeof(float[n][m]));
  float(*dx)[m] = malloc(sizeof(float[n][m]));
  float(*dy)[m] = malloc(sizeof(float[n][m]));
#pragma scop
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < m - 1; j++)
      blur[i][j] = (in[i - 1][j - 1] + 2.0f * in[i - 1][j] + in[i - 1][j + 1] +
                    2.0f * in[i][j - 1] + 4.0f * in[i][j] + 2.0f * in[i][j + 1] +
                    in[i + 1][j - 1] + 2.0f * in[i + 1][j] + in[i + 1][j + 1]) *
                   0.0625f;
  for (int i = 2; i < n - 2; i++)
    for (int j = 2; j < m - 2; j++) {
      dx[i][j] = blur[i - 1][j + 1] - blur[i - 1][j - 1] +
                 2.0f * (blur[i][j + 1] - blur[i][j - 1]) + blur[i + 1][j + 1] -
                 blur[i + 1][j - 1];
      dy[i][j] = blur[i + 1][j - 1] - blur[i - 1][j - 1] +
                 2.0f * (blur[i + 1][j] - blur[i - 1][j]) + blur[i + 1][j + 1] -
                 blur[i - 1][j + 1];
    }
  for (int i = 3; i < n - 3; i++)
    for (int j = 3; j < m - 3; j++) {
      float xx = 0.0f, xy = 0.0f, yy = 0.0f;
      for (int k = -1; k <= 1; k++)
        for (int l = -1; l <= 1; l++) {
          xx += dx[i + k][j + l] * dx[i + k][j + l];
          xy += dx[i + k][j + l] * dy[i + k][j + l];
          yy += dy[i + k][j + l] * dy[i + k][j + l];
        }
      out[i][j] = xx * yy - xy * xy - 0.04f * (xx + yy) * (xx + yy);
    }
#pragma endscop
  free(blur);
  free(dx);
  free(dy);
}
