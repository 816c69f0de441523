/* Edges as in Canny's detector: blur, Sobel, magnitude, thinning, two thresholds. */
#include <stdlib.h>

void canny(int n, int m, unsigned char in[n][m], unsigned char out[n][m]) {
  short(*blur)[m] = malloc(sizeof(short[n][m]));
  short(*gx)[m] = malloc(sizeof(short[n][m]));
  short(*gy)[m] = malloc(sizeof(short[n][m]));
  short(*magnitude)[m] = malloc(sizeof(short[n][m]));
#pragma scop
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < m - 1; j++)
      blur[i][j] = (in[i - 1][j - 1] + 2 * in[i - 1][j] + in[i - 1][j + 1] + 2 * in[i][j - 1] +
                    4 * in[i][j] + 2 * in[i][j + 1] + in[i + 1][j - 1] + 2 * in[i + 1][j] +
                    in[i + 1][j + 1] + 8) >> 4;
  for (int i = 2; i < n - 2; i++)
    for (int j = 2; j < m - 2; j++) {
      gx[i][j] = blur[i - 1][j + 1] - blur[i - 1][j - 1] + 2 * blur[i][j + 1] -
                 2 * blur[i][j - 1] + blur[i + 1][j + 1] - blur[i + 1][j - 1];
      gy[i][j] = blur[i + 1][j - 1] - blur[i - 1][j - 1] + 2 * blur[i + 1][j] -
                 2 * blur[i - 1][j] + blur[i + 1][j + 1] - blur[i - 1][j + 1];
    }
  for (int i = 2; i < n - 2; i++)
    for (int j = 2; j < m - 2; j++)
      magnitude[i][j] = (gx[i][j] < 0 ? -gx[i][j] : gx[i][j]) +
                        (gy[i][j] < 0 ? -gy[i][j] : gy[i][j]);
  for (int i = 3; i < n - 3; i++)
    for (int j = 3; j < m - 3; j++) {
      int ax = gx[i][j] < 0 ? -gx[i][j] : gx[i][j];
      int ay = gy[i][j] < 0 ? -gy[i][j] : gy[i][j];
      int before = ax > ay ? magnitude[i][j - 1] : magnitude[i - 1][j];
      int after = ax > ay ? magnitude[i][j + 1] : magnitude[i + 1][j];
      int value = magnitude[i][j];
      out[i][j] = value >= before && value > after ? (value > 160 ? 255 : value > 60 ? 128 : 0) : 0;
    }
#pragma endscop
  free(blur);
  free(gx);
  free(gy);
  free(magnitude);
}
