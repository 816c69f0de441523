// refused: goto is not supported
void f(int n, double a[n]) {
  double t = 3;
#pragma scop
  for (int i = 0; i < n; i++) { { double t = a[i]; if (t > 0.04) goto L; a[i] = t * 2; } a[i] += t; L: a[i] += 1; }
#pragma endscop
}
