// n=5 m=7
void f(int n, int m, double A[n * m], double s[n]) {
#pragma scop
  double *p = A;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      s[i] += *p++;
#pragma endscop
}
