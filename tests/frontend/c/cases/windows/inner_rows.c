// n=5 m=7
void f(int n, int m, double A[n * m], double B[n * m]) {
#pragma scop
  for (int t = m; t < n * m - m; t++)
    A[t] = B[t + m] + B[t - m];
#pragma endscop
}
