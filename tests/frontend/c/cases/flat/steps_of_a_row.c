// n=5 m=3
void steps_of_a_row(int n, int m, double *A, double *first) {
#pragma scop
  for (int k = 0; k < n * m; k += m)
    for (int j = 0; j < m; j++)
      A[k + j] = A[k] + j * 0.5;
  for (int k = 0; k <= n * m - m; k += m)
    for (int j = k + 1; j < k + m; j++)
      A[j] -= A[j - 1];
  for (int k = (n - 1) * m; k >= 0; k = k - m)
    A[k] += k;
#pragma endscop
}
