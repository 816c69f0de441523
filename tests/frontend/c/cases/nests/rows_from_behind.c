// n=6
void f(int n, double A[n][n], double b[n]) {
  int k = n - 1;
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++)
      A[k][j] = b[j];
    k--;
  }
#pragma endscop
}
