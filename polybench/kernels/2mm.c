/* Two matrix products in a row: D = alpha A B C + beta D,
   with the intermediate tmp = alpha A B kept in full. */

void init_2mm(int ni, int nj, int nk, int nl, double *alpha, double *beta, double A[ni][nk],
              double B[nk][nj], double C[nj][nl], double D[ni][nl])
{
#pragma scop
  *alpha = 1.5;
  *beta = 1.2;
  for (int i = 0; i < ni; i++)
    for (int j = 0; j < nk; j++)
      A[i][j] = (double)((i * j + 1) % ni) / ni;
  for (int i = 0; i < nk; i++)
    for (int j = 0; j < nj; j++)
      B[i][j] = (double)(i * (j + 1) % nj) / nj;
  for (int i = 0; i < nj; i++)
    for (int j = 0; j < nl; j++)
      C[i][j] = (double)((i * (j + 3) + 1) % nl) / nl;
  for (int i = 0; i < ni; i++)
    for (int j = 0; j < nl; j++)
      D[i][j] = (double)(i * (j + 2) % nk) / nk;
#pragma endscop
}

void kernel_2mm(int ni, int nj, int nk, int nl, double alpha, double beta, double tmp[ni][nj],
                double A[ni][nk], double B[nk][nj], double C[nj][nl], double D[ni][nl])
{
#pragma scop
  for (int i = 0; i < ni; i++)
    for (int j = 0; j < nj; j++) {
      tmp[i][j] = 0.0;
      for (int k = 0; k < nk; k++)
        tmp[i][j] += alpha * A[i][k] * B[k][j];
    }
  for (int i = 0; i < ni; i++)
    for (int j = 0; j < nl; j++) {
      D[i][j] *= beta;
      for (int k = 0; k < nj; k++)
        D[i][j] += tmp[i][k] * C[k][j];
    }
#pragma endscop
}
