// n=6 m=5
// The row is computed when the program runs; the column is not.
void columns_by_data(int n, int m, double A[n * m], int rows[n], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      y[i] += A[rows[i] * m + j];
      if (A[i * m + j] > y[i])
        A[i * m + j] = y[i];
    }
#pragma endscop
}
