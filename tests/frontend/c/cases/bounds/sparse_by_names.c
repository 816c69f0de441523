// m=9
void sparse_by_names(int m, float value[m], float y[5]) {
  unsigned row[6];
  for (int i = 0; i < 6; i++)
    row[i] = i < 3 ? i : i + 4;
#pragma scop
  for (int i = 0; i < 5; i++) {
    int first = row[i], last = row[i + 1];
    int k;
    for (k = first; k <= last - 1; ++k)
      if (value[k] > 0.25f)
        y[i] += value[k];
  }
#pragma endscop
}
