// n=9 m=7
void lengths(int n, int m, int sum[n], int A[n][m], int length[n], int sign[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    int count = 0;
    for (int j = 0; j < m && j < length[i]; j++) {
      if (A[i][j] > 2)
        A[i][j] -= sign[i];
      count++;
    }
    for (int j = m - 1; length[i] <= j && 0 <= j; j--)
      sum[i] += A[i][j] * count;
  }
#pragma endscop
}
