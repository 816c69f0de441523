// n=5, w=3
// What alone is in a loop says how far it runs: where it does nothing, the iteration does nothing.
void rows_times_columns(int n, int w, double value[11], double b[6][w], double c[5][w], int on[5]) {
  int row[6] = {0, 2, 2, 7, 8, 11}, column[11];
  for (int k = 0; k < 11; k++)
    column[k] = (5 * k + 2) % 6;
#pragma scop
  for (int i = 0; i < n; i++)
    for (int k = row[i]; k < row[i + 1]; k++)
      for (int j = 0; j < w; j++)
        c[i][j] += value[k] * b[column[k]][j];
  for (int i = 0; i < n; i++)
    for (int k = row[i]; k < row[i + 1]; k++)
      if (on[i] > 3)
        value[k] += 1;
#pragma endscop
}
