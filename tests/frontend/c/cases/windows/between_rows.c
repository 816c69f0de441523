// n=9 m=8 a=2 b=6
void f(int n, int m, int a, int b, double A[n * m]) {
  assert(0 <= a && a <= b && b <= n);
#pragma scop
  for (int t = a * m; t < b * m; t++)
    A[t] = 1;
#pragma endscop
}
