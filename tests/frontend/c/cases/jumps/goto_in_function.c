// n=9
static void h(int *x, int v) { if (v > 3) goto out; x[0] += v; out: x[0] += 1; }
void f(int n, int A[n], int B[n]) {
#pragma scop
  for (int i = 0; i < n; ++i) { h(&A[i], i); }
#pragma endscop
}
