// n=12
void f(int n, double a[n], double b[n], double c[n], double d[n], double e[n]) {
#pragma scop
  for (int i = 0; i < n - 1; i++) {
    if (a[i] >= 0.02) { goto L20; }
    if (b[i] >= 0.05) { goto L30; }
    a[i] += c[i] * d[i];
L30:
    b[i + 1] = c[i] + d[i] * e[i];
L20: ;
  }
#pragma endscop
}
