// refused: h does not end with a return of its value
static int h(int *x, int v) { if (v > 3) { x[0] += v; return v; } x[0] -= 1; }
void f(int n, int A[n], int B[n]) {
#pragma scop
  for (int i = 0; i < n; ++i) { B[i] = h(&A[i], i); }
#pragma endscop
}
