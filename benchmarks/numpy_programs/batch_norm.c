/* Normalization of the channels of a batch by their mean and variance. */
#include <math.h>
void batch_norm(int b, int n, int m, int c, float in[b][n][m][c], float scale[c], float shift[c],
                float out[b][n][m][c]) {
  float mean[c], var[c];
#pragma scop
  for (int k = 0; k < c; k++) {
    mean[k] = 0.0f;
    var[k] = 0.0f;
  }
  for (int p = 0; p < b; p++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++)
        for (int k = 0; k < c; k++)
          mean[k] += in[p][i][j][k];
  for (int k = 0; k < c; k++)
    mean[k] = mean[k] / (b * n * m);
  for (int p = 0; p < b; p++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++)
        for (int k = 0; k < c; k++)
          var[k] += (in[p][i][j][k] - mean[k]) * (in[p][i][j][k] - mean[k]);
  for (int k = 0; k < c; k++)
    var[k] = sqrtf(var[k] / (b * n * m) + 1e-5f);
  for (int p = 0; p < b; p++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++)
        for (int k = 0; k < c; k++)
          out[p][i][j][k] = (in[p][i][j][k] - mean[k]) / var[k] * scale[k] + shift[k];
#pragma endscop
}
