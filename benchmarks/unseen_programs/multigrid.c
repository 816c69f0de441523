/* One visit of the coarse grid: residual, full weighting, a scaled guess there, back by interpolation. */
void multigrid(int n, double u[2 * n + 1][2 * n + 1], double f[2 * n + 1][2 * n + 1],
               double r[2 * n + 1][2 * n + 1], double c[n + 1][n + 1])
{
  int i, j;
#pragma scop
  for (i = 1; i < 2 * n; i++)
    for (j = 1; j < 2 * n; j++)
      r[i][j] = f[i][j] - (4 * u[i][j] - u[i - 1][j] - u[i + 1][j] - u[i][j - 1] - u[i][j + 1]);
  for (i = 1; i < n; i++)
    for (j = 1; j < n; j++)
      c[i][j] = 0.25 * r[2 * i][2 * j]
              + 0.125 * (r[2 * i - 1][2 * j] + r[2 * i + 1][2 * j] + r[2 * i][2 * j - 1] + r[2 * i][2 * j + 1])
              + 0.0625 * (r[2 * i - 1][2 * j - 1] + r[2 * i - 1][2 * j + 1]
                        + r[2 * i + 1][2 * j - 1] + r[2 * i + 1][2 * j + 1]);
  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++) {
      u[2 * i][2 * j] += 0.25 * c[i][j];
      u[2 * i + 1][2 * j] += 0.125 * (c[i][j] + c[i + 1][j]);
      u[2 * i][2 * j + 1] += 0.125 * (c[i][j] + c[i][j + 1]);
      u[2 * i + 1][2 * j + 1] += 0.0625 * (c[i][j] + c[i + 1][j] + c[i][j + 1] + c[i + 1][j + 1]);
    }
#pragma endscop
}
