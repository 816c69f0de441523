// n=4 m=5 lda=8 ldb=6
// The rows are long enough if m <= lda and m <= ldb, a condition of the program.
void rows_longer_than_used(int n, int m, int lda, int ldb, double *A, const double *B) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      A[i * lda + j] += B[i * ldb + m - 1 - j];
#pragma endscop
}
