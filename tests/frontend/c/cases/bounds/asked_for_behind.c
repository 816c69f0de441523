// refused: a loop bound depends on data
void behind(int n, int m, int last[n], int length[n]) {
  int j;
#pragma scop
  for (int i = 0; i < n; i++) {
    for (j = 0; j < m && j < length[i]; j++)
      last[i] += j;
    last[i] = j;
  }
#pragma endscop
}
