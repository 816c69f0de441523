/* Horizontal diffusion of layers, with a limiter on the fluxes. */
void diffusion_limited(int k, int n, int m, double in[k][n + 4][m + 4], double coeff[k][n][m],
                       double out[k][n][m]) {
  double lap[n + 2][m + 2], fx[n + 1][m], fy[n][m + 1];
#pragma scop
  for (int l = 0; l < k; l++) {
    for (int i = 0; i < n + 2; i++)
      for (int j = 0; j < m + 2; j++)
        lap[i][j] = 4.0 * in[l][i + 1][j + 1] - (in[l][i + 2][j + 1] + in[l][i][j + 1] +
                                                 in[l][i + 1][j + 2] + in[l][i + 1][j]);
    for (int i = 0; i < n + 1; i++)
      for (int j = 0; j < m; j++) {
        double f = lap[i + 1][j + 1] - lap[i][j + 1];
        fx[i][j] = f * (in[l][i + 2][j + 2] - in[l][i + 1][j + 2]) > 0.0 ? 0.0 : f;
      }
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m + 1; j++) {
        double f = lap[i + 1][j + 1] - lap[i + 1][j];
        fy[i][j] = f * (in[l][i + 2][j + 2] - in[l][i + 2][j + 1]) > 0.0 ? 0.0 : f;
      }
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++)
        out[l][i][j] = in[l][i + 2][j + 2] -
                       coeff[l][i][j] * (fx[i + 1][j] - fx[i][j] + fy[i][j + 1] - fy[i][j]);
  }
#pragma endscop
}
