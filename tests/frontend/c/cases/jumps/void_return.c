// n=9
static void set(int *x, int v) { if (v > 4) { *x = v; return; } if (v > 2) { *x += 1; } else { return; } *x = -v + *x; }
void f(int n, int A[n]) {
#pragma scop
  for (int i = 0; i < n; ++i) set(&A[i], i);
#pragma endscop
}
