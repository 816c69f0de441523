// refused: how large A is cannot be told
void two_widths(int n, int m, double *A) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      A[i * m + j] += A[j * n + i];
#pragma endscop
}
