/* Many small products of matrices, 12 x 12, each added to its output. */
#define S 12
void batchmm(int batch, float a[][S][S], float b[][S][S], float c[][S][S])
{
  int n, i, j, k;
#pragma scop
  for (i = 0; i < S; i++)
    for (j = 0; j < S; j++)
      for (k = 0; k < S; k++)
        for (n = 0; n < batch; n++)
          c[n][i][j] += a[n][i][k] * b[n][k][j];
#pragma endscop
}
