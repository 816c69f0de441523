// n=9
static int h(int *x, int v) { if (v > 3) { x[0] += v; return v; } else { x[0] -= 1; return x[0]; } }
void f(int n, int A[n], int B[n]) {
#pragma scop
  for (int i = 0; i < n; ++i) { B[i] = h(&A[i], i); }
#pragma endscop
}
