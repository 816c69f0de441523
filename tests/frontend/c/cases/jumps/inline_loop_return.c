// refused: return is only understood at the end of a function
static int find(int n, int *x) { for (int i = 0; i < n; i++) if (x[i]) return i; return -1; }
void f(int n, int A[n]) {
#pragma scop
  A[0] = find(n, A);
#pragma endscop
}
