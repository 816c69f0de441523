// n=6 m=7
void f(int n, int m, double *A, double *B) {
  int k = m + 1;
#pragma scop
  for (int i = 1; i < n - 1; i++) {
    for (int j = 1; j < m - 1; j++) {
      A[k] = B[k - 1] + B[k + 1] + B[k - m] + B[k + m];
      k++;
    }
    k += 2;
  }
#pragma endscop
}
