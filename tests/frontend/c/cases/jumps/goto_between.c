// n=12
void f(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    if (a[i] > 0.01) { b[i] = 1; if (a[i] > 0.05) goto A; else if (b[i] > 3) goto B; b[i] += 2; }
    a[i] *= 2;
A:  a[i] += 1;
    if (b[i] < 2) { a[i] -= 5; goto C; }
B:  b[i] *= 3;
C:  b[i] -= a[i];
  }
#pragma endscop
}
