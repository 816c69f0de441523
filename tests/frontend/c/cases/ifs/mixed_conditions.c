// n=9
void f(int n, double a[n], double b[n], int p) {
#pragma scop
  for (int i = 0; i < n; i++) {
    if (p || a[i] < 0.05) b[i] = 1;
    if (a[i] != 0.0 && i < n - 1) b[i + 1] = a[i];
    if (!(a[i] < 0.08)) a[i] = 3;
    double s; if (b[i] > 0.5) s = 1; else s = 2;
    a[i] += s;
  }
#pragma endscop
}
