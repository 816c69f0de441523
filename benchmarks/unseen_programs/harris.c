/* Corners after Harris and Stephens: derivatives, their products, sums over windows, response. */
void harris(int n, int m, float img[n][m], float ix[n][m], float iy[n][m],
            float ixx[n][m], float iyy[n][m], float ixy[n][m], float response[n][m])
{
  const float kappa = 0.04f;
#pragma scop
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < m - 1; j++) {
      ix[i][j] = (img[i][j + 1] - img[i][j - 1]) * 0.5f;
      iy[i][j] = (img[i + 1][j] - img[i - 1][j]) * 0.5f;
    }
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < m - 1; j++) {
      ixx[i][j] = ix[i][j] * ix[i][j];
      iyy[i][j] = iy[i][j] * iy[i][j];
      ixy[i][j] = ix[i][j] * iy[i][j];
    }
  for (int i = 2; i < n - 2; i++)
    for (int j = 2; j < m - 2; j++) {
      float a = 0, b = 0, c = 0;
      for (int u = -1; u <= 1; u++)
        for (int v = -1; v <= 1; v++) {
          a += ixx[i + u][j + v];
          b += iyy[i + u][j + v];
          c += ixy[i + u][j + v];
        }
      response[i][j] = a * b - c * c - kappa * (a + b) * (a + b);
    }
#pragma endscop
}
