/* Implicit hydrodynamics in two dimensions: relaxation in place, columns walked first. */
void implicit2d(int n, int m, int sweeps, double za[n][m], double zr[n][m], double zb[n][m],
                double zu[n][m], double zv[n][m], double zz[n][m])
{
  double qa;
#pragma scop
  for (int l = 0; l < sweeps; l++)
    for (int j = 1; j < m - 1; j++)
      for (int k = 1; k < n - 1; k++) {
        qa = za[k][j + 1] * zr[k][j] + za[k][j - 1] * zb[k][j]
           + za[k + 1][j] * zu[k][j] + za[k - 1][j] * zv[k][j] + zz[k][j];
        za[k][j] += 0.175 * (qa - za[k][j]);
      }
#pragma endscop
}
