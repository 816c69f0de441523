/* A bilateral filter of five by five, of bytes, then sharpened edges. */
#include <stdlib.h>

void bilateral(int n, int m, unsigned char in[n][m], unsigned char out[n][m]) {
  float(*smooth)[m] = malloc(sizeof(float[n][m]));
#pragma scop
  for (int i = 2; i < n - 2; i++)
    for (int j = 2; j < m - 2; j++) {
      float sum = 0.0f, weights = 0.0f;
      for (int k = -2; k <= 2; k++)
        for (int l = -2; l <= 2; l++) {
          float d = (float)in[i + k][j + l] - (float)in[i][j];
          float w = 1.0f / (1.0f + 0.125f * (k * k + l * l) + 0.01f * d * d);
          sum += w * in[i + k][j + l];
          weights += w;
        }
      smooth[i][j] = sum / weights;
    }
  for (int i = 3; i < n - 3; i++)
    for (int j = 3; j < m - 3; j++) {
      float v = 3.0f * smooth[i][j] - 0.5f * (smooth[i - 1][j] + smooth[i + 1][j] +
                                              smooth[i][j - 1] + smooth[i][j + 1]);
      out[i][j] = v < 0.0f ? 0 : v > 255.0f ? 255 : (unsigned char)v;
    }
#pragma endscop
  free(smooth);
}
