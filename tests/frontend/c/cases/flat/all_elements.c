// n=4 m=3 k=2
void all_elements(int n, int m, int k, double *A, double B[n * m * k], double C[n * m * k]) {
#pragma scop
  for (int i = 0; i < n * m * k; i++)
    A[i] = B[i] * i;
  for (int i = n * m * k - 1; i >= 0; --i)
    C[i] = A[i] + B[i];
  for (int x = 0; x < n; x++)
    for (int y = 0; y < m; y++)
      for (int z = 0; z < k; z++)
        A[(x * m + y) * k + z] += C[x * m * k + y * k + k - 1 - z];
#pragma endscop
}
