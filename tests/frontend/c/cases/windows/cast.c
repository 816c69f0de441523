// n=6 m=8
void f(int n, int m, double A[n][m]) {
  double *p = (double *)A;
#pragma scop
  for (int t = 0; t < n * m; t++)
    p[t] = 0;
#pragma endscop
}
