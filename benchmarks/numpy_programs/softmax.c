/* Softmax of the rows of a batch of matrices. */
#include <math.h>
void softmax(int b, int n, int m, float in[b][n][m], float out[b][n][m]) {
#pragma scop
  for (int p = 0; p < b; p++)
    for (int i = 0; i < n; i++) {
      float top = in[p][i][0], sum = 0.0f;
      for (int j = 1; j < m; j++)
        top = in[p][i][j] > top ? in[p][i][j] : top;
      for (int j = 0; j < m; j++) {
        out[p][i][j] = expf(in[p][i][j] - top);
        sum += out[p][i][j];
      }
      for (int j = 0; j < m; j++)
        out[p][i][j] = out[p][i][j] / sum;
    }
#pragma endscop
}
