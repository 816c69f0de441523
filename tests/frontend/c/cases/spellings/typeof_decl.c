// refused: typeof_decl.c:4:33: error: __typeof__ is not supported
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { __typeof__(a[0]) t = a[i]; a[i] = t * t; }
#pragma endscop
}
