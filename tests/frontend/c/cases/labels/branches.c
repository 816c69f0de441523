// n=11
void f(int n, double a[n], double b[n], double c[n]) {
#pragma scop
  L: for (int i = 0; i < n; i++) {
    if (i > 4) { a[i] += 1; b[i] = a[i]; } else c[i] = 2;
    if (a[i] > 2) b[i] *= 2; else { c[i] += b[i]; L_1: a[i] = 3; }
  }
  block: { a[0] += 1; b[0] += a[0]; }
#pragma endscop
}
