// refused: j < m && j < n[i]
void sparse(int n, int nnz, double y[n], double *value, int row[n + 1]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = row[i]; j < row[i + 1]; j++)
      y[i] += value[j];
#pragma endscop
}
