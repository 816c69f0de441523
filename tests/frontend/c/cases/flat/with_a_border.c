// n=5 m=7
#define AT(i, j) ((i) * (m + 2) + (j))
void with_a_border(int n, int m, double u[(n + 2) * (m + 2)], double v[(n + 2) * (m + 2)]) {
#pragma scop
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= m; j++)
      v[AT(i, j)] = (u[AT(i - 1, j)] + u[AT(i + 1, j)] + u[AT(i, j - 1)] + u[AT(i, j + 1)]) / 4;
  for (int i = 0; i < n + 2; i++) {
    v[i * (m + 2)] = u[i * (m + 2)];
    v[i * (m + 2) + m + 1] = u[(i + 1) * (m + 2) - 1];
  }
#pragma endscop
}
