// n=5 m=4
void rows_from_products(int n, int m, double *A, double *s, double *t) {
  int k;
#pragma scop
  for (int i = 0; i < n; i++) {
    s[i] = 0;
    for (k = i * m; k < (i + 1) * m; k++)
      s[i] += A[k] * k;
    for (int l = i * m + m - 1; l >= m * i; l -= 2)
      A[l] = s[i] - l;
    int end = (i + 1) * m;
    for (int l = i * m + 1; l < end; l++)
      t[l] = A[l - 1];
  }
#pragma endscop
}
