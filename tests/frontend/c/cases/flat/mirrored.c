// n=4 m=5
void mirrored(int n, int m, float *to, float *from) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      to[i * m + m - 1 - j] = from[(n - 1 - i) * m + j] + to[i * m + (j + 1) % m];
#pragma endscop
}
