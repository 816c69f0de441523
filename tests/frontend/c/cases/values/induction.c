// n=9
void f(int n, double x[2*n+1], double y[n]) {
  int k = 0;
#pragma scop
  for (int i = 0; i < n; i++) { y[i] = x[k]; k += 2; x[k] = k; }
  x[k] = k * 0.5;
#pragma endscop
}
