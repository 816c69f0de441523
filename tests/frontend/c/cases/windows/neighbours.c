// n=6 m=8
void f(int n, int m, double A[n * m]) {
#pragma scop
  for (int t = 1; t < n * m; t++)
    A[t] = A[t - 1] * 0.5;
#pragma endscop
}
