// n=5
void cube(int n, double A[n * n * n], double x[n * n]) {
#pragma scop
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++) {
      x[i * n + j] = 0;
      for (int k = n - 2; k >= 1; k--)
        x[i * n + j] += A[i * n * n + j * n + k - 1] - A[(i - 1) * n * n + (j + 1) * n + k];
    }
#pragma endscop
}
