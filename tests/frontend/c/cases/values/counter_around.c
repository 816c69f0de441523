// n=9
void f(int n, double x[n], double y[n]) {
  for (int t = 0; t < 5; t++) {
#pragma scop
    for (int i = 0; i < n; i++) x[i] = y[i] + t;
#pragma endscop
  }
}
