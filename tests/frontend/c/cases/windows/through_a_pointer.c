// n=6 m=8
void f(int n, int m, double A[n][m]) {
#pragma scop
  double *p = &A[0][0];
  for (int t = 0; t < n * m; t++)
    p[t] = 0;
#pragma endscop
}
