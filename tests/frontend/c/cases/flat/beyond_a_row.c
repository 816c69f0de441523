// n=6 m=4
void beyond_a_row(int n, int m, double A[n * m]) {
#pragma scop
  for (int i = 0; i < n - 2; i++)
    for (int j = 0; j < 2 * m; j++)
      A[i * m + j] += 1;
#pragma endscop
}
