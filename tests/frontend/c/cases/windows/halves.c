// n=6 m=8
void f(int n, int m, double A[n * m]) {
#pragma scop
  for (int t = 0; t < n * m / 2; t++) {
    double x = A[t];
    A[t] = A[n * m - 1 - t];
    A[n * m - 1 - t] = x;
  }
#pragma endscop
}
