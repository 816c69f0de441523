// n=9
void f(int n, double x[n], int y[n]) {
  int k = 0; int m = k;
  k = 4;
#pragma scop
  for (k = 0; k < n; k++) x[m] = y[k] + m;
#pragma endscop
}
