/* A sparse matrix in rows times a vector. */
void sparse_product(int n, int z, int row[n + 1], int col[z], double val[z], double x[n], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    double sum = 0.0;
    for (int k = row[i]; k < row[i + 1]; k++)
      sum += val[k] * x[col[k]];
    y[i] = sum;
  }
#pragma endscop
}
