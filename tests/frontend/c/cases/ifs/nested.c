// n=9
void f(int n, double a[n], double b[n], int q[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    if (i > 0 && a[i - 1] > 0.05) { if (b[i] < 0.5) a[i] = a[i - 1] + 1; else if (q[i] % 3 == 0) { double t = a[i]; b[i] = t / 2; } }
    if (q[i]) q[i] = 10 / q[i]; else q[i] = -1;
  }
#pragma endscop
}
