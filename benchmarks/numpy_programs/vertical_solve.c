/* Tridiagonal systems, one for each column of a grid. */
void vertical_solve(int k, int n, int m, double a[k][n][m], double b[k][n][m], double c[k][n][m],
                    double d[k][n][m], double x[k][n][m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      c[0][i][j] = c[0][i][j] / b[0][i][j];
      d[0][i][j] = d[0][i][j] / b[0][i][j];
    }
  for (int l = 1; l < k; l++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++) {
        double w = 1.0 / (b[l][i][j] - a[l][i][j] * c[l - 1][i][j]);
        c[l][i][j] = c[l][i][j] * w;
        d[l][i][j] = (d[l][i][j] - a[l][i][j] * d[l - 1][i][j]) * w;
      }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      x[k - 1][i][j] = d[k - 1][i][j];
  for (int l = 1; l < k; l++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++)
        x[k - 1 - l][i][j] = d[k - 1 - l][i][j] - c[k - 1 - l][i][j] * x[k - l][i][j];
#pragma endscop
}
