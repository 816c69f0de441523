// n=4,m=6
// Sizes are those where the region begins.
void halved_before(int n, int m, double *a, double *b) {
  if (n > 5)
    n = n / 2;
  m += 1;
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      a[j] = i + b[i];
#pragma endscop
}
