// n=4 m=5 lda=8
#include <assert.h>
void shorter_than_its_rows(int n, int m, int lda, double *A) {
  assert(lda >= m);
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      A[i * lda + j] += A[i * lda] * j;
#pragma endscop
}
