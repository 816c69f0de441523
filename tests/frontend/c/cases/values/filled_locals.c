// n=9
void f(int n, double x[n], double y[n]) {
  double t = 0.5, u[3]; int q;
  t = x[0] * 2; for (q = 0; q < 3; q++) u[q] = y[q] + q;
#pragma scop
  for (int i = 0; i < n; i++) { y[i] = x[i] * t + u[i % 3]; t = t * 0.5; }
  x[0] = t;
#pragma endscop
}
