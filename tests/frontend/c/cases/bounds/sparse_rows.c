// nnz=13
// The data of the rows are made before the region: two elements a row, three at the end.
void sparse_rows(int nnz, double value[nnz], double x[6], double y[6]) {
  int row[7], column[13];
  for (int i = 0; i < 7; i++)
    row[i] = i < 6 ? 2 * i : 13;
  for (int k = 0; k < 13; k++)
    column[k] = (5 * k + 2) % 6;
#pragma scop
  for (int i = 0; i < 6; i++) {
    double sum = 0;
    for (int k = row[i]; k < row[i + 1]; k++)
      sum += value[k] * x[column[k]];
    y[i] = sum;
  }
  for (int i = 0; i < 6; i++)
    for (int k = row[i + 1] - 1; k >= row[i]; k--)
      value[k] = value[k] / (y[i] + 2);
#pragma endscop
}
