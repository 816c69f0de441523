// n=12
void f(int n, double a[n], double b[n], double c[n], double d[n]) {
#pragma scop
  for (int i = 0; i < n - 1; ++i) {
    if (b[i] < 0.03) goto L20;
    a[i] = c[i] + d[i] * d[i];
    goto L10;
L20:
    c[i + 1] = a[i] + d[i] * d[i];
L10: ;
  }
#pragma endscop
}
