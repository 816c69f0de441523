// refused: a loop bound depends on data
void no_array_says(int n, int m, int row[n + 1], double x[m], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int k = row[i]; k < row[i + 1]; k++) {
      y[i] += 1;
      if (y[i] > 0)
        y[i] += x[k];
    }
#pragma endscop
}
