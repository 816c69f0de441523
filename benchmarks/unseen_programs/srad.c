/* Speckle reducing diffusion: coefficients from four differences, then an update with them. */
#include <assert.h>
#define LAMBDA 0.5f
float dN[1200][1200], dS[1200][1200], dW[1200][1200], dE[1200][1200], c[1200][1200];
void srad(int n, int m, int iterations, float J[n][m], float q0)
{
  int i, j, it;
  assert(n <= 1200 && m <= 1200);
  float g2, l, num, den, q;
#pragma scop
  for (it = 0; it < iterations; it++) {
    for (i = 1; i < n - 1; i++)
      for (j = 1; j < m - 1; j++) {
        dN[i][j] = J[i - 1][j] - J[i][j];
        dS[i][j] = J[i + 1][j] - J[i][j];
        dW[i][j] = J[i][j - 1] - J[i][j];
        dE[i][j] = J[i][j + 1] - J[i][j];
        g2 = (dN[i][j] * dN[i][j] + dS[i][j] * dS[i][j] + dW[i][j] * dW[i][j]
              + dE[i][j] * dE[i][j]) / (J[i][j] * J[i][j] + 0.01f);
        l = (dN[i][j] + dS[i][j] + dW[i][j] + dE[i][j]) / (J[i][j] + 0.1f);
        num = 0.5f * g2 - 0.0625f * l * l;
        den = 1.0f + 0.25f * l;
        q = num / (den * den + 0.01f);
        den = (q - q0) / (q0 * (1.0f + q0) + 0.1f);
        c[i][j] = 1.0f / (1.0f + den * den);
      }
    for (i = 1; i < n - 2; i++)
      for (j = 1; j < m - 2; j++)
        J[i][j] = J[i][j] + 0.25f * LAMBDA * (c[i][j] * dN[i][j] + c[i + 1][j] * dS[i][j]
                  + c[i][j] * dW[i][j] + c[i][j + 1] * dE[i][j]);
  }
#pragma endscop
}
