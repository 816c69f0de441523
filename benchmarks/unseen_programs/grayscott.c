/* Reaction and diffusion of two substances. */
void grayscott(int steps, int n, int m, double u[n][m], double v[n][m], double un[n][m], double vn[n][m])
{
  const double Du = 0.16, Dv = 0.08, F = 0.035, k = 0.065;
#pragma scop
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++) {
        double lu = u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - 4.0 * u[i][j];
        double lv = v[i - 1][j] + v[i + 1][j] + v[i][j - 1] + v[i][j + 1] - 4.0 * v[i][j];
        double uvv = u[i][j] * v[i][j] * v[i][j];
        un[i][j] = u[i][j] + Du * lu - uvv + F * (1.0 - u[i][j]);
        vn[i][j] = v[i][j] + Dv * lv + uvv - (F + k) * v[i][j];
      }
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++) {
        u[i][j] = un[i][j];
        v[i][j] = vn[i][j];
      }
  }
#pragma endscop
}
