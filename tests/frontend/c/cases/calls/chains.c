// n=9
void f(int n, double x[n], double y[n], int I[n]) {
  int a, b;
  double t, u;
#pragma scop
  for (int i = 0; i < n; i++) { x[i] = y[i] = t = i * 0.5; I[i] = (a = i * 3) + 2; u = (t = 2.5, t + 1); y[i] += u + a; b = 7, I[i] += b; }
#pragma endscop
}
