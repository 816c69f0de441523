// n=9 m=8
void f(int n, int m, double A[n * m]) {
#pragma scop
  for (int t = 2 * m; t < 5 * m; t++)
    A[t] = 1;
#pragma endscop
}
