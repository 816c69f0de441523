// refused: how large A is cannot be told
void changed_width(int n, int m, double *A, int w[1]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < m; j++)
      A[i * w[0] + j] += 1;
    w[0] = w[0] + 1;
  }
#pragma endscop
}
