// n=9
void f(int n, double a[n]) {
  double t = 3;
#pragma scop
  for (int i = 0; i < n; i++) { { double u = a[i]; if (u > 0.04) goto L; a[i] = u * 2; } a[i] += t; L: a[i] += 1; }
#pragma endscop
}
