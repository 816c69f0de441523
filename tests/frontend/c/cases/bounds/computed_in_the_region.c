// n=9 m=7
void computed(int n, int m, int sum[n], int half[n], unsigned char w[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    int u = half[i] / 2;
    for (int j = 0; j < u && j < m; j++)
      sum[i] += j;
    for (unsigned char j = 0; j < 100 && w[i] > j; j += 3)
      sum[i] -= j;
  }
#pragma endscop
}
