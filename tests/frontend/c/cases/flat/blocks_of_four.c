// n=3 m=5
// Rows of rows of four; the last one needs no parameter.
void blocks_of_four(int n, int m, double *x, double *y) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int c = 0; c < 4; c++)
        y[4 * (i * m + j) + c] = x[i * m * 4 + j * 4 + 3 - c];
#pragma endscop
}
