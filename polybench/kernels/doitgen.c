/* Product of a rank-3 tensor with a matrix along the last dimension, in place:
   A[r][q][p] = sum over s of A[r][q][s] C4[s][p]; sum[] holds the new row until the old is done. */

void init_doitgen(int nq, int nr, int np, double A[nr][nq][np], double C4[np][np])
{
#pragma scop
  for (int i = 0; i < nr; i++)
    for (int j = 0; j < nq; j++)
      for (int k = 0; k < np; k++)
        A[i][j][k] = (double)((i * j + k) % np) / np;
  for (int i = 0; i < np; i++)
    for (int j = 0; j < np; j++)
      C4[i][j] = (double)(i * j % np) / np;
#pragma endscop
}

void kernel_doitgen(int nq, int nr, int np, double A[nr][nq][np], double C4[np][np],
                    double sum[np])
{
#pragma scop
  for (int r = 0; r < nr; r++)
    for (int q = 0; q < nq; q++) {
      for (int p = 0; p < np; p++) {
        sum[p] = 0.0;
        for (int s = 0; s < np; s++)
          sum[p] += A[r][q][s] * C4[s][p];
      }
      for (int p = 0; p < np; p++)
        A[r][q][p] = sum[p];
    }
#pragma endscop
}
