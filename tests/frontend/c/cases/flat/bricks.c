// n=4 m=3 k=5
// Three dimensions in one, written in three ways.
void bricks(int n, int m, int k, double *A, double B[n * m * k], double C[k * (n * m)]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int l = 0; l < k; l++) {
        A[(i * m + j) * k + l] = B[i * m * k + j * k + l] + 2.0 * C[l + k * (j + m * i)];
        if (l > 0)
          C[i * (m * k) + j * k + l - 1] += A[k * (m * i + j) + l];
      }
#pragma endscop
}
