// n=6 m=8
void f(int n, int m, double A[n * m]) {
#pragma scop
  for (int t = 0; t < n * m - 1; t++)
    A[t] = A[t + 1];
#pragma endscop
}
