// refused: assert(m >= k)
void rows_not_known_to_fit(int n, int m, int lda, double *A) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      A[i * lda + j] += 1;
#pragma endscop
}
