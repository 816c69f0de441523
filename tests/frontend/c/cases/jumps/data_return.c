// n=9
static int h(int *x, int v) { int t = 0; if (x[0] > 30) { x[0] = 30; return t; } t = x[0] + v; if (t > 10) return t - 10; x[0] = t; return -1; }
void f(int n, int A[n], int B[n]) {
#pragma scop
  for (int i = 0; i < n; ++i) B[i] = h(&A[i], i);
  for (int i = 0; i < n; ++i) h(&B[i], i);
#pragma endscop
}
