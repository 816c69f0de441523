// n=6 m=20
void f(int n, int m, int row[n + 1], int col[m], double v[m], double x[n], double y[n], int at[n], int count[n]) {
  int used = 0;
#pragma scop
  for (int i = 0; i < n; i++) {
    y[i] = 0;
    for (int j = 0; j < m; j++) if (row[i] % 9 <= j && j < row[i + 1] % 20) y[i] += v[j] * x[col[j]];
  }
  for (int i = 0; i < n; i++) if (y[i] > 0.001) at[used++] = i;
  for (int i = 0; i < n; i++) if (i < used) { count[at[i]] += i; x[at[i]] = y[used - 1]; }
#pragma endscop
}
