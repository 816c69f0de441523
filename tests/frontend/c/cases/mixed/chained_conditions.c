// n=6
void f(int n, double x[n], double y[n], double z[n]) {
  double c;
#pragma scop
  for (int i = 0; i < n; i++) {
    c = x[i] * 2;
    if (c > 0.1) { if (y[i] > 0.05) { z[i] = c; c = 0; } else z[i] = -c; x[i] = c; }
    else if (c > 0.05) z[i] = 9; else { z[i] = c; y[i] = 0; }
  }
#pragma endscop
}
