// n=9
double clampd(double v) { if (v < 0.1) return 0.1; else if (v > 0.9) return 0.9; return v; }
int lim(int i, int n) { int k = i + 2; if (k >= n) k = n - 1; return k; }
int lim2(int i, int n) { int k = i + 2; return k >= n ? n - 1 : k; }
void swap(double *a, double *b) { double t = *a; *a = *b; *b = t; }
void f(int n, double x[n], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { x[i] = clampd(y[i]) + lim2(i, n) + y[lim2(i, n)]; swap(&x[i], &y[0]); }
#pragma endscop
}
