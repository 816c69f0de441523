// n=9
void f(int n, double a[n], double b[n], double c[n]) {
#pragma scop
  for (int i = 0; i < n; i++) if (a[i] > 0.1) b[i] = c[i] + a[i]; else { c[i] = 2; b[i] -= 1; }
#pragma endscop
}
