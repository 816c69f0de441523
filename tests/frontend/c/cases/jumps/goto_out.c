// refused: goto_out.c:4:47: error: goto is not supported
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { if (a[i] > 1) goto out; a[i] = 1; }
out: a[0] = 2;
#pragma endscop
}
