// n=11
static double picked(int n, double b[n]) {
  double s = 0;
  for (int k = 0; k < n; k++) {
    if (k == 2) continue;
    if (b[k] > 0.5) { s -= 1; continue; }
    s += b[k];
  }
  return s;
}
void f(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0, j = n - 1; i < n; i++, j--) {
    if (i == 3) continue;
    double t = b[j];
    if (t > 0.3) { a[i] = t; continue; }
    else if (t > 0.2) { if (i > 4) continue; a[i] = 7; }
    for (int k = 0; k < i; k++)
      if (k == 1) continue; else a[i] += b[k] * t;
    for (int k = 0; k < i; k++) { a[i] -= 1; if (b[k] > b[i]) continue; a[i] *= 2; continue; }
    a[i] -= 1;
    continue;
  }
  a[0] = picked(n, b);
#pragma endscop
}
