/* Pressure of a flow in a box: sweeps of Jacobi with walls. */
void cavity_pressure(int steps, int n, int m, double b[n][m], double p[n][m], double q[n][m]) {
#pragma scop
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++)
        q[i][j] = p[i][j];
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++)
        p[i][j] = 0.25 * (q[i][j + 1] + q[i][j - 1] + q[i + 1][j] + q[i - 1][j]) - b[i][j];
    for (int i = 0; i < n; i++)
      p[i][m - 1] = p[i][m - 2];
    for (int j = 0; j < m; j++)
      p[0][j] = p[1][j];
    for (int i = 0; i < n; i++)
      p[i][0] = p[i][1];
    for (int j = 0; j < m; j++)
      p[n - 1][j] = 0.0;
  }
#pragma endscop
}
