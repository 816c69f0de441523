// refused: goto_over_decl.c:6:19: error: goto is not supported
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    int t = 1;
    if (a[i] > 0) goto L;
    int u; u = 2; a[i] = u;
L:  u = t; a[i] += u;
  }
#pragma endscop
}
