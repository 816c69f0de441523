// n=4 m=3
// Rows of n, although the product ends with m.
void other_order(int n, int m, int *a) {
#pragma scop
  for (int i = 0; i < n * m; i++)
    a[i] = i;
  for (int j = 0; j < m; j++)
    for (int i = 0; i < n; i++)
      a[j * n + i] += a[j * n] + i;
#pragma endscop
}
