/* Sums of products of many small matrices. */
void small_products(int e, int q, int n, double g[e][n][n], double h[q][n][n], double out[e][n][n]) {
#pragma scop
  for (int p = 0; p < e; p++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        out[p][i][j] = 0.0;
        for (int s = 0; s < q; s++)
          for (int k = 0; k < n; k++)
            out[p][i][j] += g[p][i][k] * h[s][k][j];
      }
#pragma endscop
}
