// refused: a loop bound depends on data
void mixed(int n, int m, int a[n], unsigned k[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = -3; j < m && j < k[i]; j++)
      a[i] += j;
#pragma endscop
}
