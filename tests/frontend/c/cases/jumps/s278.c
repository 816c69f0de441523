// n=12
void f(int n, double a[n], double b[n], double c[n], double d[n], double e[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    if (a[i] > 0.03) { goto L20; }
    b[i] = -b[i] + d[i] * e[i];
    goto L30;
L20:
    c[i] = -c[i] + d[i] * e[i];
L30:
    a[i] = b[i] + c[i] * d[i];
  }
#pragma endscop
}
