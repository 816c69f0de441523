// n=9 m=5
void f(int n, int m, unsigned char level[n], int count[256], double w[n], double sum[m][m], int row[n], int perm[n], float y[n], float x[n]) {
  int i, used;
#pragma scop
  used = 0;
  for (i = 0; i < n; i++) count[level[i]]++;
  for (i = 0; i < n; i++) { y[perm[i]] = x[i]; x[i] = y[i] + 1; }
  for (i = 0; i < n; i++)
    for (int j = 0; j < m; j++) sum[row[i] % m][j] += w[i] * j;
  for (i = 0; i < n; i++) if (w[i] > 0.2) perm[used++] = i;
  for (i = 0; i < n; i++) if (i < used) y[perm[i]] *= 2;
#pragma endscop
}
