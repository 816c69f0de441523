// refused: a loop bound depends on data
void start_that_changes(int n, int m, int row[n + 1], double x[m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int k = row[i]; k < n; k++) {
      x[k] += 1;
      row[i] = k;
    }
#pragma endscop
}
