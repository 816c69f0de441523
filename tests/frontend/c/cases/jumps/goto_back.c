// refused: goto is not supported
void f(int n, double a[n]) {
  int i = 0;
#pragma scop
again:
  a[i] = 1; i++;
  if (i < n) goto again;
#pragma endscop
}
