// refused: a loop bound depends on data
void shrinking(int n, int m, int length[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m && j < length[i]; j++)
      length[i]--;
#pragma endscop
}
